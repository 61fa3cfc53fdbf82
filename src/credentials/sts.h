/* credentials/sts.h: temporary keys of a role from AWS's Security Token Service: AssumeRole, signed
 * with other keys, and AssumeRoleWithWebIdentity, with a token from a file that is read for each
 * question, since it is replaced while the process runs.
 *
 * The endpoint is regional unless one is given. A signature that is refused while this machine's
 * clock is far from that of STS is made anew, once, with the time of STS. */
#ifndef S3L_CREDS_STS_H
#define S3L_CREDS_STS_H

#include "credentials/service.h"

/** Whom to assume. */
typedef struct s3l_sts_role_s {
  s3l_span_t arn;
  s3l_span_t session_name; /* n == 0: one is made up */
  s3l_span_t external_id;  /* n == 0: none */
  uint32_t duration_s;     /* 0: what STS takes, which is an hour */
  s3l_span_t region;
  s3l_span_t endpoint; /* URL; n == 0: AWS in the region */
} s3l_sts_role_t;

typedef struct s3l_sts_s {
  s3l_service_t* service; /* set by the owner */
  s3l_sts_role_t role;
  const s3lect_credentials_t* keys; /* that sign; NULL: web identity */
  char made_name[40];
} s3l_sts_t;

/** The endpoint that the environment names, or n == 0. */
s3l_span_t s3l_sts_endpoint(const s3l_settings_t* settings);

/** What the role points to, and the keys, must stay until the question ends, which may be in this
 * call. */
void s3l_sts_assume_role(s3l_sts_t* sts, const s3l_sts_role_t* role,
                         const s3lect_credentials_t* keys);

/** The same with the token in a file, whose path must stay likewise. */
void s3l_sts_web_identity(s3l_sts_t* sts, const s3l_sts_role_t* role, const char* token_file);

#endif
