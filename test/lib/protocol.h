/* The protocol that a test runs with. Every test of an election runs once with each protocol; see
 * test/CMakeLists.txt. */
#ifndef S3L_TEST_PROTOCOL_H
#define S3L_TEST_PROTOCOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "s3lect/record.h"

/** With epoch files, else with a lockfile: the environment variable S3L_TEST_PROTOCOL is "epochs".
 */
bool s3l_test_epochs(void);
/** The same for the option `protocol` of an elector. */
int32_t s3l_test_protocol(void);
/** A record as the protocol has it in the store; returns its length. */
size_t s3l_test_encode(const s3lect_record_t* record, char* body, size_t size);

#endif
