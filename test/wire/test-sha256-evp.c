/* wire/sha256 again, by its other way to libcrypto: this program carries its own copy of it. */
#define S3L_SHA256_EVP

#include "wire/sha256.c" // NOLINT: another variant of the same source is what is tested

#include "test-sha256.c" // NOLINT
