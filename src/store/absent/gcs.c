#include "s3lect/store_gcs.h"
#include "store/absent/absent.h"

S3L_STORE_ABSENT(gcs, "S3LECT_GCS")
