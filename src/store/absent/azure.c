#include "s3lect/store_azure.h"
#include "store/absent/absent.h"

S3L_STORE_ABSENT(azure, "S3LECT_AZURE")
