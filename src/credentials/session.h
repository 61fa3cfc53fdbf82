/* credentials/session.h: the sessions of a directory bucket (S3 Express One Zone).
 *
 * A directory bucket accepts requests that are signed with the keys of a session: CreateSession
 * gives such keys for one bucket and five minutes, to a request that is signed with the
 * credentials of the process. A session is the provider of those keys: it stands around the cache
 * of the credentials, and under a cache of its own, which replaces the keys ahead of their end.
 *
 * CreateSession goes through the service caller, whose rule where secrets may go applies. If the
 * bucket refuses the credentials as unknown or expired, their cache is told. A signature that is
 * refused while this machine's clock is far from the bucket's is made anew, once, with the
 * bucket's time. */
#ifndef S3L_CREDS_SESSION_H
#define S3L_CREDS_SESSION_H

#include <stdbool.h>

#include "credentials/cache.h"
#include "credentials/settings.h"

typedef struct s3l_session_options_s {
  const char* origin; /* "https://HOST[:PORT]", with the bucket in the host's name */
  const char* bucket; /* in the path, where the host does not name it; else "" */
  const char* region;
  s3l_creds_cache_t* keys; /* the cache of the credentials that sign CreateSession */
  bool keys_borrowed;      /* else it is closed with the session, and if this fails */
} s3l_session_options_t;

/** A session under a cache, as a store uses it. `settings` has the certificates and the proxy of
 * the way to the bucket; the texts are copied. Errors: S3LECT_EOPTION, UV_ENOMEM. */
int s3l_creds_session(uv_loop_t* loop, const s3lect_credentials_chain_options_t* settings,
                      const s3l_session_options_t* options, s3l_creds_cache_t** out,
                      s3lect_error_t* error);

#endif
