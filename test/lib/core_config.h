/* How tests configure a core where they do not say otherwise: usual times, a lockfile, no peers. */
#ifndef S3L_TEST_CORE_CONFIG_H
#define S3L_TEST_CORE_CONFIG_H

#include "core/core.h"

static inline s3l_core_config_t s3l_test_core_config(const char* id) {
  return (s3l_core_config_t){.protocol = &s3l_lockfile,
                             .id = id,
                             .addr = "",
                             .leader_timeout_ms = 15000,
                             .renew_interval_ms = 5000,
                             .frequent_interval_ms = 5000,
                             .infrequent_interval_ms = 30000,
                             .request_timeout_ms = 3000,
                             .release_timeout_ms = 1000,
                             .drift_ppm = 10000,
                             .peer_interval_ms = 30000,
                             .peer_timeout_ms = 3000};
}

#endif
