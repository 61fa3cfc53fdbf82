/* sim/files.h: many objects in one store: epoch files, each known by its number.
 *
 * As sim/store.h, whose clock and dialect hold here too: linearizable by number. Listings may lag:
 * they show which files there were a while ago. A store may have no If-Match. */
#ifndef SIM_FILES_H
#define SIM_FILES_H

#include "core/epochs.h"
#include "s3lect/types.h"
#include "sim/store.h"

#define SIM_FILES_MAX     1024 /* beyond that the oldest goes, as by an operator's lifecycle rule */
#define SIM_FILE_BODY_MAX 640

typedef struct sim_file_s {
  uint64_t number;
  bool exists;
  bool oversized;
  s3l_ns_t born;  /* the first create */
  s3l_ns_t since; /* the last one */
  s3l_ns_t until; /* the deletion, if it does not exist */
  int64_t modified_ms;
  char etag[SIM_ETAG_SIZE];
  uint32_t body_len;
  char body[SIM_FILE_BODY_MAX];
} sim_file_t;

typedef struct sim_files_s {
  s3l_ns_t lag; /* of listings */
  bool blind;   /* they show no file of after blind_from */
  s3l_ns_t blind_from;
  uint32_t page;
  bool no_if_match;
  size_t len;
  sim_file_t at[SIM_FILES_MAX]; /* in the order of numbers */
} sim_files_t;

/** NULL: there is no such file. */
const sim_file_t* sim_files_find(const sim_files_t* f, uint64_t number);
/** The highest; NULL: there is none. */
const sim_file_t* sim_files_newest(const sim_files_t* f);
size_t sim_files_count(const sim_files_t* f);

/** A reply's body and ETag are the file's. */
sim_reply_t sim_files_get(const sim_files_t* f, const sim_store_t* s, s3l_ns_t t, uint64_t number,
                          const char* etag);
sim_reply_t sim_files_put(sim_files_t* f, const sim_store_t* s, s3l_ns_t t, uint64_t number,
                          s3lect_condition_t condition, const char* etag, bool bare,
                          const char* body, size_t len);
/** One page of the files above `after`; *last is the last one of it. */
void sim_files_list(const sim_files_t* f, s3l_ns_t t, uint64_t after, s3l_listing_t* listing,
                    uint64_t* last);
void sim_files_delete(sim_files_t* f, s3l_ns_t t, uint64_t number);
/** By hand: unconditionally. */
sim_file_t* sim_files_set(sim_files_t* f, const sim_store_t* s, s3l_ns_t t, uint64_t number,
                          const char* body, size_t len);

#endif
