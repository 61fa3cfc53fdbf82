/* Shared by the tests of the S3 store's options: valid options, an environment without AWS
 * variables, and the resulting configuration. */
#ifndef S3L_TEST_S3_CONFIG_H
#define S3L_TEST_S3_CONFIG_H

#include <stdbool.h>

#include "store/s3/options.h"

/* The configuration that s3l_config_make has made last. */
extern s3l_s3_config_t s3l_config;

/** Valid options. Clears the environment, too. */
s3lect_store_s3_options_t s3l_config_good(void);

/** 0 or the error. */
int s3l_config_make(const s3lect_store_s3_options_t* o);

void s3l_config_assert_host(const s3lect_store_s3_options_t* o, const char* header,
                            const char* host, unsigned port, bool tls, bool path_style);

/** Asserts that check and init refuse the options with that error. */
void s3l_config_assert_refused(const s3lect_store_s3_options_t* o, int err, const char* text);

#endif
