/* verify/checks.h: what the checks of s3lect_verify share; see verify_run.h. */
#ifndef S3L_VERIFY_CHECKS_H
#define S3L_VERIFY_CHECKS_H

#include "verify/run.h"

/** The store turned a write away, as it should where its condition does not hold. */
bool s3l_verify_is_refused(const s3l_verify_op_t* op);

/** Of a read: neither shows an object nor that there is none. */
bool s3l_verify_tells_nothing(const s3l_verify_op_t* op);

/** What the store said, for people: its words, or ours. */
const char* s3l_verify_said(const s3l_verify_op_t* op);

/** "412", or the error's name where there was no reply. */
const char* s3l_verify_status(const s3l_verify_op_t* op, char out[24]);

/** An op tells nothing about its check: the run ends with its error. */
void s3l_verify_give_up(s3l_verify_run_t* run, s3l_verify_check_t check, const s3l_verify_op_t* op);

/** A body that was never written before has got this ETag. */
void s3l_verify_note_etag(s3l_verify_run_t* run, const char* etag);

/** The main object is now this one. */
void s3l_verify_set_now(s3l_verify_run_t* run, const char* etag, const char* body);

/** A write has been carried out. */
void s3l_verify_confirm(s3l_verify_run_t* run, const s3l_verify_op_t* op);

/* The steps of verify_races.c. */
void s3l_verify_start_create_race(s3l_verify_run_t* run);
bool s3l_verify_done_create_race(s3l_verify_run_t* run);
void s3l_verify_start_swap_race(s3l_verify_run_t* run);
bool s3l_verify_done_swap_race(s3l_verify_run_t* run);

#endif
