/* credentials/metadata.h: keys from the services of the machine itself, which answer in JSON.
 *
 * A container's agent: ECS (a path on 169.254.170.2) and EKS Pod Identity (a URL, and a file with a
 * token that is read for each question).
 *
 * The instance metadata service of EC2 (IMDS), version 2: a token by PUT, then the name of the
 * instance's role, then its keys. Version 1 is never tried: any forwarding proxy can be tricked
 * into its requests. Where there is no such service (a laptop) nothing answers, so the time-out is
 * short. In a container with a bridge the reply to PUT gets lost unless the instance's hop limit is
 * 2. */
#ifndef S3L_CREDS_METADATA_H
#define S3L_CREDS_METADATA_H

#include "credentials/service.h"

/** Whether the environment says that there is a container's agent. */
bool s3l_container_is_configured(const s3l_settings_t* settings);

/* The question may end in these calls. */
void s3l_container_fetch(s3l_service_t* service);
void s3l_imds_fetch(s3l_service_t* service);

#endif
