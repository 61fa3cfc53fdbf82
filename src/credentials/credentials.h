/* credentials/credentials.h: where the keys that sign requests come from.
 *
 * Vocabulary
 *   credentials  access key, secret and, for temporary keys, a session token and an end
 *   provider     has credentials at hand, and keeps them fresh ahead of need
 *   source       gets one set of credentials when it is asked, from a file, a service, a program
 *
 * A provider is either fixed (static.c) or a cache over a source (cache.h); sources are the chain
 * of AWS's SDKs (chain.h) and what the user has written (user.h). Whoever owns credentials wipes
 * them when it lets go of them. They are never logged. */
#ifndef S3L_CREDS_CREDS_H
#define S3L_CREDS_CREDS_H

#include <stddef.h>
#include <stdint.h>

#include "util/list.h"
#include "util/span.h"

#define S3L_CREDS_ACCESS_KEY_MAX 128
#define S3L_CREDS_SECRET_MAX     255
#define S3L_CREDS_TOKEN_MAX      8192

/* ---- Credentials ---- */

typedef struct s3l_creds_s {
  char* access_key;
  char* secret;
  char* token;        /* NULL for keys that are not temporary */
  int64_t expires_ms; /* Unix time by this machine's wall clock; 0: never */
} s3l_creds_t;

/** Copies them into one block. token.n may be 0. Errors: UV_ENOMEM; S3LECT_ECREDENTIALS, and then
 * *why (static text) says what is wrong with them. */
int s3l_creds_new(s3l_span_t access_key, s3l_span_t secret, s3l_span_t token, int64_t expires_ms,
                  s3l_creds_t** out, const char** why);

/** Wipes and frees what s3l_creds_new gave; NULL is a no-op. */
void s3l_creds_free(s3l_creds_t* creds);

/* ---- Providers ---- */

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
  /* For people: why there are none, "" if that is not so. Good until the loop goes on. */
  const char* (*why)(const s3l_creds_provider_t* provider);
  /* Somebody who checks them refused the credentials: get others, if there are any. */
  void (*refused)(s3l_creds_provider_t* provider);
  /* Ends all waiting with UV_ECANCELED, wipes and frees everything, then calls cb, if not NULL: at
   * once if nothing has to be closed in the loop. */
  void (*close)(s3l_creds_provider_t* provider, void (*cb)(void* arg), void* arg);
} s3l_creds_ops_t;

struct s3l_creds_provider_s {
  const s3l_creds_ops_t* ops;
};

/** Waits no longer: cb will not run. No-op on a wait that is over, or was initialised only. */
static inline void s3l_creds_wait_end(s3l_creds_wait_t* wait) {
  s3l_list_remove(&wait->link);
}

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

/* ---- Sources ---- */

typedef struct s3l_creds_source_s s3l_creds_source_t;
typedef struct s3l_creds_fetch_s s3l_creds_fetch_t;

/** One question to a source; embedded in its owner. */
struct s3l_creds_fetch_s {
  void* data;
  /* From the loop. status 0: `creds` is the callee's. Else `why` tells people; it is good during
   * the call only, and never holds a secret. */
  void (*done)(s3l_creds_fetch_t* fetch, int status, s3l_creds_t* creds, const char* why);
};

typedef struct s3l_creds_source_ops_s {
  /* Asks; done runs once, later, never inside. One question at a time. */
  void (*fetch)(s3l_creds_source_t* source, s3l_creds_fetch_t* fetch);
  /* Drops the question, if there is one (done will not run), frees everything, then calls cb: at
   * once if nothing has to be closed in the loop. */
  void (*close)(s3l_creds_source_t* source, void (*cb)(void* arg), void* arg);
} s3l_creds_source_ops_t;

struct s3l_creds_source_s {
  const s3l_creds_source_ops_t* ops;
};

#endif
