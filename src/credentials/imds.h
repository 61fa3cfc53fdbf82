/* credentials/imds.h: keys of an EC2 instance's role from the instance metadata service,
 * version 2: a token by PUT, then the role's name, then its keys. There is no way back to version
 * 1, whose requests any forwarding proxy can be tricked into.
 *
 * Where there is no such service (a laptop) nothing answers, so the time-out is short. In a
 * container with a bridge the reply to PUT gets lost unless the instance's hop limit is 2. */
#ifndef S3L_CREDS_IMDS_H
#define S3L_CREDS_IMDS_H

#include "credentials/credentials.h"
#include "credentials/service.h"
#include "credentials/settings.h"

typedef struct s3l_imds_s {
  const s3l_settings_t* settings;
  s3l_service_t service;
  s3l_creds_fetch_t* fetch; /* the question under way */
  char prefix[256];         /* path of the endpoint, without a '/' at its end */
  char token[512];
  char role[128];
  s3l_buf_t why;
  char why_text[S3L_SERVICE_WHY_MAX];
} s3l_imds_t;

void s3l_imds_init(s3l_imds_t* i, uv_loop_t* loop, const s3l_settings_t* settings);

/** done may run inside. */
void s3l_imds_fetch(s3l_imds_t* i, s3l_creds_fetch_t* fetch);

/** Drops the question, if there is one, closes all, then calls cb: at once if nothing is open. */
void s3l_imds_close(s3l_imds_t* i, void (*cb)(void* arg), void* arg);

#endif
