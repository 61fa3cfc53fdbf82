/* wire/azure_request.h: writes one request of Azure Blob Storage as an HTTP/1.1 request.
 *
 * With an account key the request is signed (Shared Key authorization): every x-ms-* header, the
 * path, the query, the body's length and the conditions, so that a middlebox which strips If-Match
 * makes the store refuse the request instead of writing unconditionally. The body itself is not
 * signed; TLS protects it. A shared access signature (SAS) is a further part of the query, and an
 * OAuth token is the authorization; these two are secrets that travel with the request.
 *
 * Values with CR, LF or NUL are refused (header injection). */
#ifndef S3L_WIRE_AZURE_REQUEST_H
#define S3L_WIRE_AZURE_REQUEST_H

#include "wire/draft.h"

#define S3L_AZURE_VERSION "2023-11-03"

/** Whether a token is a shared access signature; else it is an OAuth token. */
bool s3l_azure_is_sas(s3l_span_t token);

/** Whether a shared access signature can be sent as a part of the query, as it is. */
bool s3l_azure_sas_fits(s3l_span_t sas);

/** Writes the request for `time_ms`. Of `target` it uses host, bucket, user agent, origin and proxy
 * authorization; `bucket` is the path before the blob's name: "CONTAINER" or "ACCOUNT/CONTAINER".
 * `keys` are the account's name with its key in base64, or a token alone. `request` may be a GET, a
 * PUT, a DELETE or a LIST, whose `after` is the marker at which the page begins. Returns as
 * s3l_s3_request_write. */
int s3l_azure_request_write(s3l_sha256_t* engine, const s3l_s3_target_t* target,
                            const s3l_s3_keys_t* keys, const s3l_s3_request_t* request,
                            int64_t time_ms, char* buf, size_t cap, size_t* len);

/* ---- Stages ---- */

/** `params` are the raw parameters of the draft's query, sorted by name. */
void s3l_azure_string_to_sign(s3l_buf_t* b, const s3l_draft_t* draft, s3l_span_t account,
                              const s3l_sigv4_pair_t* params, size_t n);

/** Appends the signature in base64. False: the key is no base64, or libcrypto failed. */
bool s3l_azure_signature(s3l_sha256_t* engine, s3l_span_t key, s3l_span_t string_to_sign,
                         s3l_buf_t* b);

#endif
