#include "lib/protocol.h"

#include <stdlib.h>
#include <string.h>

bool s3l_test_epochs(void) {
  const char* protocol = getenv("S3L_TEST_PROTOCOL");
  return protocol != NULL && strcmp(protocol, "epochs") == 0;
}
