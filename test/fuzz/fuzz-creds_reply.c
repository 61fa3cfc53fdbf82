/* The documents in which credentials come, from IMDS and containers' agents, STS, programs and
 * token services, and the errors of such services.
 *
 * Input: which of them (a digit: 0 service, 1 program, 2 STS, 3 an error, which must not show
 * SECRET, 4 token service, 5 impersonation by Google), a line that is the reply's Date (empty: it
 * has none), then the document. */
#include "credentials/reply.h"
#include "fuzz.h"
#include "s3lect/errno.h"

#define NOW 1730023200000

static int is_clean(const char* s) {
  return fuzz_is_line(s) && strchr(s, ' ') == NULL;
}

static void check_creds(const s3lect_credentials_t* creds, bool temporary) {
  FUZZ_CHECK(creds->access_key_id[0] != '\0' && is_clean(creds->access_key_id));
  FUZZ_CHECK(strlen(creds->access_key_id) <= S3L_CREDS_ACCESS_KEY_MAX);
  FUZZ_CHECK(creds->secret_access_key[0] != '\0' && is_clean(creds->secret_access_key));
  FUZZ_CHECK(strlen(creds->secret_access_key) <= S3L_CREDS_SECRET_MAX);
  FUZZ_CHECK(creds->session_token == NULL ||
             (creds->session_token[0] != '\0' && is_clean(creds->session_token) &&
              strlen(creds->session_token) <= S3L_CREDS_TOKEN_MAX));
  FUZZ_CHECK(creds->expires_ms >= 0);
  FUZZ_CHECK(!temporary || (creds->session_token != NULL && creds->expires_ms > 0));
}

static void check_token(const s3lect_credentials_t* creds) {
  FUZZ_CHECK(creds->access_key_id[0] == '\0' && creds->secret_access_key[0] == '\0');
  FUZZ_CHECK(creds->session_token[0] != '\0' && is_clean(creds->session_token));
  FUZZ_CHECK(strlen(creds->session_token) <= S3L_CREDS_TOKEN_MAX);
  FUZZ_CHECK(creds->expires_ms > 0);
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz_input_t in = {data, size};
  char text[1024];
  s3l_buf_t why;
  s3lect_credentials_t* creds = NULL;
  unsigned which = fuzz_choice(&in, 6);
  (void)fuzz_line(&in); /* the rest of the digit's line */
  char* date = fuzz_string(fuzz_line(&in));
  const s3l_http_header_t header = {S3L_SPAN("date"), s3l_span_cstr(date)};
  const s3l_http_reply_t reply = {.http_status = 200,
                                  .headers = &header,
                                  .headers_len = date[0] != '\0' ? 1 : 0,
                                  .body = fuzz_rest(&in)};
  int err = S3LECT_ECREDENTIALS;
  s3l_buf_init(&why, text, sizeof(text));
  switch (which) {
  case 0:
    err = s3l_reply_service_json(&reply, NOW, &creds, &why);
    break;
  case 1:
    err = s3l_reply_process_json(reply.body, &creds, &why);
    break;
  case 2:
    err = s3l_reply_service_xml(&reply, NOW, &creds, &why);
    break;
  case 4:
    err = s3l_reply_token_json(&reply, NOW, &creds, &why);
    break;
  case 5:
    err = s3l_reply_impersonated_json(&reply, NOW, &creds, &why);
    break;
  default:
    s3l_reply_put_error(reply.body, S3L_SPAN("SECRET"), &why);
    FUZZ_CHECK(s3l_buf_cstr(&why) != NULL && strstr(text, "SECRET") == NULL);
    break;
  }
  FUZZ_CHECK(s3l_buf_cstr(&why) != NULL && fuzz_is_line(text));
  FUZZ_CHECK(err == 0 || err == S3LECT_ECREDENTIALS);
  FUZZ_CHECK((err == 0) == (creds != NULL));
  FUZZ_CHECK(err == 0 || which == 3 || text[0] != '\0');
  if (creds != NULL && which >= 4)
    check_token(creds);
  else if (creds != NULL)
    check_creds(creds, which != 1);
  s3l_creds_free(creds);
  free(date);
  return 0;
}
