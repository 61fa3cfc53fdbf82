#include "lib/protocol.h"

#include <stdlib.h>
#include <string.h>

#include "core/record.h"
#include "s3lect.h"

bool s3l_test_epochs(void) {
  const char* protocol = getenv("S3L_TEST_PROTOCOL");
  return protocol != NULL && strcmp(protocol, "epochs") == 0;
}

int32_t s3l_test_protocol(void) {
  return s3l_test_epochs() ? S3LECT_PROTOCOL_EPOCHS : S3LECT_PROTOCOL_LOCKFILE;
}

size_t s3l_test_encode(const s3lect_record_t* record, char* body, size_t size) {
  return (s3l_test_epochs() ? s3l_record_encode_file : s3l_record_encode)(record, body, size);
}
