/* Two TLS engines that talk through memory. */
#ifndef S3L_TEST_TLS_PAIR_H
#define S3L_TEST_TLS_PAIR_H

#include <stdbool.h>
#include <stddef.h>

#include "net/tls_engine.h"
#include "util/prng.h"

/** Moves ciphertext from one to the other, at most `max` bytes at a time; 0: as it comes. True if
 * there was any. */
bool s3l_tls_carry(s3l_tls_engine_t* from, s3l_tls_engine_t* to, size_t max, s3l_prng_t* rng);

/** 0: both are ready; 1: the server refused; else the client's error. */
int s3l_tls_shake(s3l_tls_engine_t* client, s3l_tls_engine_t* server, size_t max, s3l_prng_t* rng);

#endif
