/* credentials/sts.h: temporary keys of a role from AWS's Security Token Service: AssumeRole,
 * signed with other keys, and AssumeRoleWithWebIdentity, by a token that stands in a file (read
 * anew each time, since it is replaced while we run).
 *
 * The endpoint is regional unless one is given. One question at a time. A signature that is refused
 * while our clock is far from STS's is made anew, once, with its time. */
#ifndef S3L_CREDS_STS_H
#define S3L_CREDS_STS_H

#include <stdint.h>

#include "credentials/credentials.h"
#include "credentials/file.h"
#include "credentials/service.h"
#include "credentials/settings.h"
#include "wire/sigv4.h"

/** Who is to be assumed. Spans need to last only during the call, unless it says otherwise. */
typedef struct s3l_sts_role_s {
  s3l_span_t arn;
  s3l_span_t session_name; /* n == 0: one is made up */
  s3l_span_t external_id;  /* n == 0: none */
  uint32_t duration_s;     /* 0: what STS takes, which is an hour */
  s3l_span_t region;
  s3l_span_t endpoint; /* URL; n == 0: AWS in the region */
} s3l_sts_role_t;

typedef struct s3l_sts_s {
  const s3l_settings_t* settings;
  s3l_service_t service;
  s3l_file_t token_file;
  const char* token_path;
  s3l_creds_fetch_t* fetch; /* the question under way */
  s3l_sts_role_t role;
  const s3l_creds_t* keys; /* that sign; NULL: web identity */
  s3l_span_t path;         /* of the endpoint */
  int64_t clock_offset_ms; /* of STS's clock from ours, where that was found wrong; or 0 */
  bool reclocked;          /* found in this question */
  char made_name[40];
  s3l_buf_t why;
  char why_text[S3L_SERVICE_WHY_MAX];
  bool closing;
  void (*close_cb)(void* arg);
  void* close_arg;
} s3l_sts_t;

void s3l_sts_init(s3l_sts_t* sts, uv_loop_t* loop, const s3l_settings_t* settings);

/** The endpoint that the environment names, or n == 0. */
s3l_span_t s3l_sts_endpoint(const s3l_settings_t* settings);

/** What the role points to, and the keys, must stay until the end. */
void s3l_sts_assume_role(s3l_sts_t* sts, const s3l_sts_role_t* role, const s3l_creds_t* keys,
                         s3l_creds_fetch_t* fetch);

/** The same with the token in a file, whose path must stay until the end. */
void s3l_sts_web_identity(s3l_sts_t* sts, const s3l_sts_role_t* role, const char* token_file,
                          s3l_creds_fetch_t* fetch);

/** Drops the question, if there is one, closes all, then calls cb: at once if nothing is open. */
void s3l_sts_close(s3l_sts_t* sts, void (*cb)(void* arg), void* arg);

#endif
