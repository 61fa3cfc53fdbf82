/* credentials/container.h: keys from a container's agent: ECS (a path on 169.254.170.2) and
 * EKS Pod Identity (a URL and a file with a token, read anew each time). */
#ifndef S3L_CREDS_CONTAINER_H
#define S3L_CREDS_CONTAINER_H

#include "credentials/credentials.h"
#include "credentials/file.h"
#include "credentials/service.h"
#include "credentials/settings.h"

typedef struct s3l_container_s {
  const s3l_settings_t* settings;
  s3l_service_t service;
  s3l_file_t token_file;
  s3l_creds_fetch_t* fetch; /* the question under way */
  char target[2048];        /* path and query */
  s3l_buf_t why;
  char why_text[S3L_SERVICE_WHY_MAX];
  bool closing;
  void (*close_cb)(void* arg);
  void* close_arg;
} s3l_container_t;

void s3l_container_init(s3l_container_t* c, uv_loop_t* loop, const s3l_settings_t* settings);

/** Whether the environment says that there is such an agent. */
bool s3l_container_is_configured(const s3l_settings_t* settings);

/** done may run inside. */
void s3l_container_fetch(s3l_container_t* c, s3l_creds_fetch_t* fetch);

/** Drops the question, if there is one, closes all, then calls cb: at once if nothing is open. */
void s3l_container_close(s3l_container_t* c, void (*cb)(void* arg), void* arg);

#endif
