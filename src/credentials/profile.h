/* credentials/profile.h: what a profile of ~/.aws/config and ~/.aws/credentials asks for.
 *
 * Vocabulary
 *   profile  "[profile x]" in config, "[x]" in credentials, "[default]" in both; credentials wins
 *   base     the source of the first keys
 *   role     is assumed with those keys, or with those of the role before
 *
 * Pure: it makes a plan, which points into the texts and the settings. */
#ifndef S3L_CREDS_PROFILE_H
#define S3L_CREDS_PROFILE_H

#include "credentials/settings.h"
#include "credentials/sts.h"
#include "util/span.h"

#define S3L_PROFILE_ROLES_MAX 8

typedef enum {
  S3L_BASE_NONE, /* the profile has no credentials */
  S3L_BASE_STATIC,
  S3L_BASE_PROCESS,
  S3L_BASE_WEB_IDENTITY,
  S3L_BASE_ENVIRONMENT,
  S3L_BASE_CONTAINER,
  S3L_BASE_INSTANCE
} s3l_base_t;

typedef struct s3l_plan_s {
  s3l_base_t base;
  s3l_span_t access_key; /* STATIC */
  s3l_span_t secret;
  s3l_span_t token;
  s3l_span_t command;                          /* PROCESS */
  s3l_span_t token_file;                       /* WEB_IDENTITY */
  s3l_sts_role_t web_role;                     /* WEB_IDENTITY */
  s3l_sts_role_t roles[S3L_PROFILE_ROLES_MAX]; /* to be assumed in this order */
  size_t roles_len;
} s3l_plan_t;

/** Makes the plan of the settings' profile. A text with n == 0 stands for a missing file. Errors:
 * S3LECT_ENOTFOUND (there is no such profile), S3LECT_ECREDENTIALS (a file
 * or the profile is broken, or asks for something that is not supported). */
int s3l_profile_resolve(const s3l_settings_t* settings, s3l_span_t config, s3l_span_t credentials,
                        s3l_plan_t* plan, s3lect_error_t* error);

/** Where a service is, by a profile. */
typedef struct s3l_profile_place_s {
  bool found; /* the profile itself */
  s3l_span_t region;
  s3l_span_t endpoint;  /* URL of the service, else of all services; n == 0: none, or ignored */
  s3l_span_t dualstack; /* use_dualstack_endpoint */
} s3l_profile_place_t;

/** Reads the same texts. `service` is the name below "[services x]": "s3". Errors:
 * S3LECT_ECREDENTIALS (a broken file). */
int s3l_profile_place(const s3l_settings_t* settings, s3l_span_t config, s3l_span_t credentials,
                      s3l_span_t service, s3l_profile_place_t* place, s3lect_error_t* error);

#endif
