/* credentials/container.h: keys from a container's agent: ECS (a path on 169.254.170.2) and EKS Pod
 * Identity (a URL, and a file with a token that is read for each question). */
#ifndef S3L_CREDS_CONTAINER_H
#define S3L_CREDS_CONTAINER_H

#include "credentials/service.h"

typedef struct s3l_container_s {
  s3l_service_t service;
  char target[2048]; /* path and query */
} s3l_container_t;

/** Whether the environment says that there is such an agent. */
bool s3l_container_is_configured(const s3l_settings_t* settings);

/** The question may end in this call. */
void s3l_container_fetch(s3l_container_t* container, s3l_loop_t* loop);

#endif
