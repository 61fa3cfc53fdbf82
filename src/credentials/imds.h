/* credentials/imds.h: keys of an EC2 instance's role from the instance metadata service, version 2:
 * a token by PUT, then the role's name, then its keys. Version 1 is never tried: any forwarding
 * proxy can be tricked into its requests.
 *
 * Where there is no such service (a laptop) nothing answers, so the time-out is short. In a
 * container with a bridge the reply to PUT gets lost unless the instance's hop limit is 2. */
#ifndef S3L_CREDS_IMDS_H
#define S3L_CREDS_IMDS_H

#include "credentials/service.h"

typedef struct s3l_imds_s {
  s3l_service_t service;
  char prefix[256]; /* path of the endpoint, without a '/' at its end */
  char role[128];
} s3l_imds_t;

/** The question may end in this call. */
void s3l_imds_fetch(s3l_imds_t* imds, s3l_loop_t* loop);

#endif
