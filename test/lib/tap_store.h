/* A store in front of another one, on its own loop: counts requests, holds them back, and answers
 * listings in the other's place. The other is a store in memory, in a directory, or on a fake S3.
 * There is one in a process. */
#ifndef S3L_TEST_TAP_STORE_H
#define S3L_TEST_TAP_STORE_H

#include <stdbool.h>
#include <uv.h>

#include "fakes3/fakes3.h"
#include "s3lect/store.h"

typedef enum { S3L_TAP_MEMORY, S3L_TAP_FILE, S3L_TAP_S3, S3L_TAP_KINDS } s3l_tap_kind_t;

#define S3L_TAP_PAGE 1000

typedef struct s3l_tap_s {
  uv_loop_t loop;
  s3lect_store_t store;
  fakes3_t* server; /* of S3L_TAP_S3; its buckets keep versions */
  unsigned gets, lists, cancels;
  bool hold; /* requests wait until they are cancelled */
  /* Answers a listing: fills entries and gives their number, or a code. */
  int (*page)(const s3lect_store_req_t* req, s3lect_store_entry_t entries[S3L_TAP_PAGE],
              bool* truncated);
} s3l_tap_t;

extern s3l_tap_t s3l_tap;

/** Opens it; closes it and ends its loop. */
void s3l_tap_open(s3l_tap_kind_t kind);
void s3l_tap_close(void);

/** Writes an object, and removes one, behind its back. */
void s3l_tap_put(const char* key, const char* body);
void s3l_tap_remove(const char* key);

#endif
