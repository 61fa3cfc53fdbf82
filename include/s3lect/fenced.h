/* s3lect/fenced.h: objects that only the newest leader can write.
 *
 * A leader can be paused for any time between its last look at s3lect_elector_is_leader and the
 * moment at which its write reaches the store. Here the store itself refuses such a write: every
 * write of a fenced object names the epoch of its leadership and is conditional on the version that
 * it replaces.
 *
 * Vocabulary
 *   fence          the first line of a fenced object: "s3lect-fence EPOCH NONCE\n", where NONCE is
 *                  32 hexadecimal digits, drawn for each write
 *   fenced object  an object that begins with a fence; its content follows. Other programs skip the
 *                  first line
 *
 * The fence is in the object and not in its metadata, because on S3 an object's ETag is the digest
 * of its body: with equal bodies, a write by a newer leader would not change the ETag, and an older
 * leader's condition would still hold. With the nonce no two writes leave the same ETag.
 *
 * The promise: once a put under an epoch has ended with 0, or a get has returned content under it,
 * the store carries out no put under a smaller epoch on this key. It needs no clock. It does not
 * hold for an object that somebody deletes or writes in another way: overwrite instead of deleting.
 * An object without a fence counts as written under epoch 0.
 *
 * So a new leader first reads what it is going to continue, with s3lect_fenced_get under its own
 * epoch: what it reads can no longer be changed by an earlier leader. */
#ifndef S3LECT_FENCED_H
#define S3LECT_FENCED_H

#include <stddef.h>
#include <stdint.h>

#include "s3lect/errno.h"
#include "s3lect/export.h"
#include "s3lect/record.h"
#include "s3lect/store.h"
#include "s3lect/types.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct s3lect_fenced_s s3lect_fenced_t;

/** How a fenced request ended. It and what it points to are valid during the callback.
 *   status 0            put: the object has this content under this epoch, or had it until a write
 *                       under the same or a greater epoch. get: `body` is the content
 *   S3LECT_EFENCED      the object has a greater epoch, which `epoch` tells: this leader is
 * deposed. outcome S3LECT_UNCERTAIN: an attempt whose reply was lost may have been carried out
 * before that; it will not be any more S3LECT_ENOTFOUND    get: there is no object. Then nothing is
 * fenced, either S3LECT_ETOOBIG      the object is larger than body_max S3LECT_EFENCE       the
 * object begins like a fence, but is none that this version knows others              as in
 * s3lect_store_result_t; UV_ETIMEDOUT: timeout_ms has passed */
typedef struct s3lect_fenced_result_s {
  size_t size; /* sizeof(s3lect_fenced_result_t) of the library */
  int32_t status;
  int32_t outcome;     /* s3lect_outcome_t, of the put, or of the fence that the get has written */
  uint64_t epoch;      /* the object's: that of its newest version which this request has seen or
                          written; 0: none was seen, or it has no fence */
  const char* body;    /* get: the content without its fence; a NUL follows it */
  size_t body_len;     /* get */
  const char* message; /* an error: one line of text; else "" */
} s3lect_fenced_result_t;

/** Ends a request. Runs exactly once, from the loop, never inside the call that started or
 * cancelled it. It may start the request again, or free its memory. */
typedef void (*s3lect_fenced_cb)(s3lect_fenced_t* req, const s3lect_fenced_result_t* result);

/** One put or get. The caller zeroes it and fills the second group; `key` and `body` must stay
 * until the callback. A struct that is used again for the same key knows the version that it has
 * written or read, so that the next put is one request instead of two. One request is under way at
 * a time. */
struct s3lect_fenced_s {
  void* data; /* the caller's; never touched */

  const char* key;     /* of the object, as in s3lect_store_req_t */
  uint64_t epoch;      /* s3lect_elector_epoch, read before s3lect_elector_is_leader said yes; at
                          least 1. get: 0 reads only, and fences nothing */
  const void* body;    /* put: the content */
  size_t body_len;     /* put: bytes */
  uint32_t timeout_ms; /* bound on all of it, > 0; then UV_ETIMEDOUT. A third is for each attempt */
  uint32_t body_max;   /* the largest content that is read, also by a put that has to see the
                          object's epoch first; 0: 1 MiB */
  s3lect_fenced_cb cb;

  s3lect_store_t* store;       /* read-only; set when the request starts */
  uint64_t seen_epoch;         /* read-only: the epoch of the version that it knows, */
  char etag[S3LECT_ETAG_SIZE]; /* read-only: and the ETag; "": it knows none */
  void* internal;
  void* reserved[4];
};

/** Writes `body` to the object under `epoch`, unless the object has a greater one. A lost reply is
 * resolved by reading the object again; what fails for a moment is tried again until timeout_ms
 * have passed. The store must stay open until the callback.
 * Errors, with no callback: UV_EINVAL (a field of `req`), UV_EIO (no random bytes), UV_ENOMEM. */
S3LECT_EXTERN int s3lect_fenced_put(s3lect_store_t* store, s3lect_fenced_t* req);

/** Reads the object's content. With an epoch, it first puts the object under it, with the content
 * unchanged, unless it is there already: then no earlier leader can write it any more. Errors: as
 * s3lect_fenced_put. */
S3LECT_EXTERN int s3lect_fenced_get(s3lect_store_t* store, s3lect_fenced_t* req);

/** Cancels a request that has been started. Its callback runs soon, with UV_ECANCELED unless it has
 * ended meanwhile. */
S3LECT_EXTERN void s3lect_fenced_cancel(s3lect_fenced_t* req);

#ifdef __cplusplus
}
#endif

#endif
