/* What happens to an established TLS connection; see tls_engine_records.c. */
#ifndef S3L_FUZZ_TLS_ENGINE_RECORDS_H
#define S3L_FUZZ_TLS_ENGINE_RECORDS_H

#include "fuzz.h"
#include "net/tls_context.h"

void fuzz_tls_records(s3l_tls_context_t* client, s3l_tls_context_t* server, fuzz_input_t* in);

#endif
