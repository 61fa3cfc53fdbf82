/* A store that uses only the public interface, as a user's would. It holds each request until the
 * test answers it, and delivers every answer from the loop.
 *
 * The same tests run with epoch files (lib/protocol.h). A read is then a listing, a file, or both
 * in turn, and there are more reads than with a lockfile: before a take-over, and after every
 * write. The test answers each read that it expects once. The store answers the others by itself,
 * with what the test has shown and what was written since. These reads are separated by timers, so
 * waits pass at once (S3L_PACE_TIMERS). */
#ifndef S3L_TEST_SCRIPT_STORE_H
#define S3L_TEST_SCRIPT_STORE_H

#include <stdbool.h>

#include "s3lect/elector.h"
#include "s3lect/record.h"
#include "s3lect/store.h"

typedef struct s3l_script_store_s {
  s3lect_store_t store;
  uv_idle_t pump;          /* gives the answer in the loop's next turn */
  s3lect_store_req_t* req; /* under way; NULL: none */
  bool is_put;
  unsigned requests; /* so far, without those that the store answered by itself */
  unsigned cancels;
  int refuse;         /* when not 0: get and put return this, once, and take nothing */
  bool answer_cancel; /* end cancelled requests at once (default), or only when the test does */

  bool answering;
  s3lect_store_result_t result;
  char etag[64];
  char body[2048];
  s3lect_record_t put; /* what the last put wanted to write */

  /* Epoch files: the newest, as it was shown or written last, and the one before. */
  bool epochs;
  bool is_list;
  struct s3l_script_file_s {
    uint64_t number; /* 0: none */
    s3lect_record_t record;
    char etag[64];
    int64_t modified_ms;
  } files[2];
  s3lect_store_entry_t entries[2];
  char keys[2][64];
} s3l_script_store_t;

void s3l_script_store_init(uv_loop_t* loop, s3l_script_store_t* s);

/** Options of elector "a" on this store, by the protocol of this run (lib/protocol.h). */
s3lect_elector_options_t s3l_script_store_options(s3l_script_store_t* s);

/** Waits until a request is under way; fails the test if it is not of that kind. */
void s3l_script_store_expect(s3l_script_store_t* s, bool put);

/** Answers the request under way and waits until the answer has been taken. */
void s3l_script_store_answer(s3l_script_store_t* s, int status, int outcome, const char* etag);

/** Answers a read with a record of another server, or one's own (`record` copied). */
void s3l_script_store_show(s3l_script_store_t* s, const s3lect_record_t* record, const char* etag);

/** Asserts that the put under way replaces the record with this ETag or, if it is a take-over with
 * epoch files, creates the next file. */
void s3l_script_store_check_over(const s3l_script_store_t* s, const char* etag);

/** A released record of epoch 7, by server "b". */
s3lect_record_t s3l_script_store_released(void);

#endif
