/* creds/creds.h (L4): where the keys that sign requests come from.
 *
 * Vocabulary
 *   credentials  access key, secret and, for temporary keys, a session token
 *   provider     a source of credentials: fixed ones, the environment, later a network service
 *
 * A provider owns the credentials that it hands out, replaces them when they expire, and wipes them
 * when it lets go of them. They are never logged. The static provider always has them at hand; one
 * that must ask a service keeps them fresh ahead of need and answers get with NULL only until it
 * has any. */
#ifndef S3L_CREDS_CREDS_H
#define S3L_CREDS_CREDS_H

#include <stddef.h>

#include "util/list.h"

typedef struct s3l_creds_s {
  char* access_key;
  char* secret;
  char* token; /* NULL for keys that are not temporary */
} s3l_creds_t;

typedef struct s3l_creds_provider_s s3l_creds_provider_t;
typedef struct s3l_creds_wait_s s3l_creds_wait_t;

/** Somebody who waits for credentials; embedded in its owner. */
struct s3l_creds_wait_s {
  void* data;
  /* From the loop, exactly once: status 0 (get has them now) or why there are none. */
  void (*cb)(s3l_creds_wait_t* wait, int status);
  s3l_list_t link;
};

typedef struct s3l_creds_ops_s {
  /* Credentials to sign with now, good until the loop goes on; or NULL, and then wait->cb runs
   * later. With wait == NULL, NULL means only that there are none at hand. */
  const s3l_creds_t* (*get)(s3l_creds_provider_t* provider, s3l_creds_wait_t* wait);
  /* Ends all waiting with UV_ECANCELED, wipes and frees everything, then calls cb, if not NULL: at
   * once for the static provider, else from the loop. */
  void (*close)(s3l_creds_provider_t* provider, void (*cb)(void* arg), void* arg);
} s3l_creds_ops_t;

struct s3l_creds_provider_s {
  const s3l_creds_ops_t* ops;
};

/** Fixed credentials, copied. token may be NULL. Errors: UV_ENOMEM, S3LECT_ECREDENTIALS (empty). */
int s3l_creds_static(const char* access_key, const char* secret, const char* token,
                     s3l_creds_provider_t** out);

/** What the environment says: AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN (or
 * the older AWS_SECURITY_TOKEN). An empty variable counts as unset: NULL. The pointers are the
 * environment's own, to be copied (by s3l_creds_static) before it changes. */
typedef struct s3l_creds_environment_s {
  const char* access_key;
  const char* secret;
  const char* token;
} s3l_creds_environment_t;

s3l_creds_environment_t s3l_creds_environment(void);

#endif
