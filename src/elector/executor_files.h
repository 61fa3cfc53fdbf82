/* elector/executor_files.h: what an executor does beside its other work with epoch files: their
 * names, listings page by page, and a second request, which removes old ones.
 *
 * Vocabulary
 *   prefix   the option lockfile_path, which all keys of the election begin with
 *   gc       the request that removes an old file: the only one that may be under way beside the
 *            executor's own; the core waits for its end before it is stopped */
#ifndef S3L_DRIVER_FILES_H
#define S3L_DRIVER_FILES_H

#include <stdbool.h>
#include <stddef.h>

#include "core/core.h"
#include "s3lect/elector.h"
#include "store/store.h"

struct s3l_executor_s;

typedef struct s3l_files_s {
  s3l_epochs_t state;
  s3lect_store_req_t gc;
  struct s3l_executor_s* executor;
  const char* prefix;
  const char* stem; /* with what every epoch file's key begins: where a listing looks */
  char* key;        /* of the request under way */
  char* gc_key;
  bool gc_ended; /* the core has not been informed yet */
  int gc_error;  /* the store did not accept the request; the core has not been informed yet */
  char after[S3L_STORE_KEY_MAX + 1]; /* where a listing begins; its last page's last key */
} s3l_files_t;

/** Bytes for the state and all that it points to; 0 in the protocol of the lockfile. */
size_t s3l_files_size(const s3lect_elector_options_t* options);

/** Prepares the state in memory of that size. */
s3l_files_t* s3l_files_init(struct s3l_executor_s* executor, void* memory,
                            const s3lect_elector_options_t* options);

/** An executor's; NULL in the protocol of the lockfile. */
s3l_files_t* s3l_files_of(const struct s3l_executor_s* executor);

/** The option lockfile_path, in either protocol. */
const char* s3l_files_election(const struct s3l_executor_s* executor);

/** Names the file of a READ or WRITE in the executor's request. */
void s3l_files_name(struct s3l_executor_s* executor, const s3l_effect_t* effect);

/** Fills the executor's request for a LIST. */
void s3l_files_list(struct s3l_executor_s* executor, const s3l_effect_t* effect);

/** Whether the executor's request is a listing. */
bool s3l_files_is_listing(const struct s3l_executor_s* executor);

/** Sums up a page that was listed; an error if it cannot be one. */
int s3l_files_listed(struct s3l_executor_s* executor, const s3lect_store_result_t* result,
                     s3l_listing_t* listing);

void s3l_files_gc(struct s3l_executor_s* executor, const s3l_effect_t* effect);
void s3l_files_gc_cancel(struct s3l_executor_s* executor);
/** True if the store did not accept the last gc request; `result` is its end. */
bool s3l_files_gc_failed(struct s3l_executor_s* executor, s3lect_store_result_t* result);

#endif
