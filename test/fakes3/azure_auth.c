/* fakes3/azure_auth.c: SharedKey, shared access signatures and bearer tokens of Azure Blob Storage.
 *
 * As auth.c, this code follows the documents (learn.microsoft.com/rest/api/storageservices:
 * authorize-with-shared-key, create-service-sas, create-account-sas) and uses nothing of the
 * library's signer. SAS of versions before 2020-12-06, which sign other fields, are refused. */
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

#include "fakes3/protocol.h"
#include "util/timefmt.h"

#define SAS_VERSION_MIN "2020-12-06"
#define SIGNATURE_SIZE  44 /* in base64 */
#define KEY_MAX         96 /* in base64 */

static bool refuse(fakes3_request_t* r, const char* detail) {
  return fakes3_fail(r, "AuthenticationFailed", "AuthenticationErrorDetail", detail);
}

/* ---- Signing ---- */

static void sign(fakes3_t* s, const fakes3_key_t* key, const fakes3_bytes_t* text,
                 unsigned char out[SIGNATURE_SIZE + 1]) {
  unsigned char raw[KEY_MAX];
  uint8_t sum[FAKES3_SHA256_SIZE];
  size_t n = strlen(key->secret_key);
  int len = n < KEY_MAX ? EVP_DecodeBlock(raw, (const unsigned char*)key->secret_key, (int)n) : -1;
  while (len > 0 && n > 0 && key->secret_key[n - 1] == '=') {
    n--;
    len--;
  }
  if (len < 0) {
    fprintf(stderr, "fakes3: the key of account %s is not base64\n", key->access_key);
    abort();
  }
  fakes3_hmac(s, (s3l_span_t){(const char*)raw, (size_t)len}, fakes3_span(text), sum);
  EVP_EncodeBlock(out, sum, sizeof(sum));
}

static bool check_signature(fakes3_request_t* r, const fakes3_key_t* key,
                            const fakes3_bytes_t* text, s3l_span_t given) {
  unsigned char signature[SIGNATURE_SIZE + 1];
  if (!fakes3_verifies(r))
    return true;
  sign(r->server, key, text, signature);
  if (given.n == SIGNATURE_SIZE && CRYPTO_memcmp(signature, given.p, given.n) == 0)
    return true;
  fakes3_bytes_t detail = {NULL, 0, 0};
  fakes3_printf(&detail,
                "The MAC signature found in the HTTP request is not the same as any computed "
                "signature. Server used following string to sign: '%.*s'.",
                (int)text->n, text->p);
  (void)refuse(r, fakes3_cstr(&detail));
  fakes3_bytes_free(&detail);
  return false;
}

/* ---- SharedKey ---- */

static int compare_names(const void* a, const void* b) {
  const fakes3_pair_t* x = a;
  const fakes3_pair_t* y = b;
  size_t n = x->name.n < y->name.n ? x->name.n : y->name.n;
  int order = memcmp(x->name.p, y->name.p, n);
  return order != 0 ? order : (x->name.n > y->name.n) - (x->name.n < y->name.n);
}

static void put_headers(fakes3_bytes_t* b, const fakes3_request_t* r) {
  fakes3_pair_t own[FAKES3_HEADERS_MAX];
  size_t n = 0;
  for (size_t i = 0; i < r->headers_n; i++) {
    if (s3l_span_starts_with(r->headers[i].name, S3L_SPAN("x-ms-")))
      own[n++] = r->headers[i];
  }
  qsort(own, n, sizeof(own[0]), compare_names);
  for (size_t i = 0; i < n; i++)
    fakes3_printf(b, "%.*s:%.*s\n", (int)own[i].name.n, own[i].name.p, (int)own[i].value.n,
                  own[i].value.p);
}

/* Names of parameters are signed in lower case; no operation here has others. */
static void put_resource(fakes3_bytes_t* b, const fakes3_request_t* r, const fakes3_key_t* key) {
  fakes3_pair_t params[FAKES3_PARAMS_MAX];
  memcpy(params, r->params, r->params_n * sizeof(params[0]));
  qsort(params, r->params_n, sizeof(params[0]), compare_names);
  fakes3_printf(b, "/%s", key->access_key);
  fakes3_put_span(b, r->path);
  for (size_t i = 0; i < r->params_n; i++)
    fakes3_printf(b, "\n%.*s:%.*s", (int)params[i].name.n, params[i].name.p, (int)params[i].value.n,
                  params[i].value.p);
}

static void put_string_to_sign(fakes3_bytes_t* b, const fakes3_request_t* r,
                               const fakes3_key_t* key) {
  static const char* const names[] = {"content-encoding",
                                      "content-language",
                                      "content-length",
                                      "content-md5",
                                      "content-type",
                                      "date",
                                      "if-modified-since",
                                      "if-match",
                                      "if-none-match",
                                      "if-unmodified-since",
                                      "range"};
  bool own_date = fakes3_header(r, "x-ms-date") != NULL;
  fakes3_printf(b, "%s\n", llhttp_method_name(r->method));
  for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
    s3l_span_t value = fakes3_header_value(r, names[i]);
    bool skip = (strcmp(names[i], "content-length") == 0 && s3l_span_eq(value, S3L_SPAN("0"))) ||
                (strcmp(names[i], "date") == 0 && own_date);
    if (!skip)
      fakes3_put_span(b, value);
    fakes3_puts(b, "\n");
  }
  put_headers(b, r);
  put_resource(b, r, key);
}

static bool check_date(fakes3_request_t* r) {
  int64_t ms;
  s3l_span_t date = fakes3_header_value(r, "x-ms-date");
  if (date.p == NULL)
    date = fakes3_header_value(r, "date");
  if (!s3l_time_parse_http(date, &ms))
    return refuse(r, "The Date header in the request is incorrect.");
  return fakes3_is_near(r, ms) || refuse(r, "Request date header too old.");
}

static const fakes3_key_t* find_account(const fakes3_request_t* r) {
  s3l_span_t path, account = fakes3_azure_account(r, &path);
  for (size_t i = 0; i < r->server->keys_n; i++) {
    const fakes3_key_t* key = &r->server->keys[i];
    if (key->secret_key[0] != '\0' && s3l_span_eq(account, s3l_span_cstr(key->access_key)))
      return key;
  }
  return NULL;
}

/* `text`: ACCOUNT:SIGNATURE. */
static bool check_shared_key(fakes3_request_t* r, s3l_span_t text) {
  const fakes3_key_t* key = find_account(r);
  s3l_span_t account = fakes3_take(&text, ':');
  fakes3_bytes_t string = {NULL, 0, 0};
  if (key == NULL || !s3l_span_eq(account, s3l_span_cstr(key->access_key)))
    return refuse(r, "The account of the Authorization header is not the one of the request.");
  if (!check_date(r))
    return false;
  put_string_to_sign(&string, r, key);
  bool good = check_signature(r, key, &string, text);
  fakes3_bytes_free(&string);
  return good;
}

/* ---- Shared access signatures ---- */

static void put_params(fakes3_bytes_t* b, const fakes3_request_t* r, const char* const* names) {
  for (; *names != NULL; names++) {
    fakes3_put_span(b, fakes3_param_value(r, *names));
    fakes3_puts(b, "\n");
  }
}

/* A SAS of the service, for a container (sr=c) or a blob (sr=b). */
static bool put_service_sas(fakes3_bytes_t* b, const fakes3_request_t* r, const char* account) {
  static const char* const first[] = {"sp", "st", "se", NULL};
  static const char* const then[] = {"si", "sip", "spr", "sv", "sr", NULL};
  static const char* const last[] = {"ses", "rscc", "rscd", "rsce", "rscl", NULL};
  bool blob = s3l_span_eq(fakes3_param_value(r, "sr"), S3L_SPAN("b"));
  put_params(b, r, first);
  fakes3_printf(b, "/blob/%s/%s%s%s\n", account, r->bucket, blob ? "/" : "", blob ? r->key : "");
  put_params(b, r, then);
  fakes3_puts(b, "\n"); /* no snapshot */
  put_params(b, r, last);
  fakes3_put_span(b, fakes3_param_value(r, "rsct"));
  return blob || s3l_span_eq(fakes3_param_value(r, "sr"), S3L_SPAN("c"));
}

static bool put_account_sas(fakes3_bytes_t* b, const fakes3_request_t* r, const char* account) {
  static const char* const names[] = {"sp",  "ss",  "srt", "st",  "se",
                                      "sip", "spr", "sv",  "ses", NULL};
  fakes3_printf(b, "%s\n", account);
  put_params(b, r, names);
  return true;
}

static bool has_letter(s3l_span_t text, char letter) {
  return text.n > 0 && memchr(text.p, letter, text.n) != NULL;
}

/* Whether the SAS allows what the request does. */
static bool check_permission(fakes3_request_t* r) {
  s3l_span_t allowed = fakes3_param_value(r, "sp");
  bool object = r->key[0] != '\0';
  bool good = false;
  if (r->method == HTTP_PUT && object)
    good = has_letter(allowed, 'w') || has_letter(allowed, 'c');
  else if (r->method == HTTP_DELETE && object)
    good = has_letter(allowed, 'd');
  else if (r->method == HTTP_GET || r->method == HTTP_HEAD)
    good = has_letter(allowed, object ? 'r' : 'l');
  if (fakes3_param(r, "srt") != NULL)
    good = good && has_letter(fakes3_param_value(r, "srt"), object ? 'o' : 'c') &&
           has_letter(fakes3_param_value(r, "ss"), 'b');
  return good || fakes3_refuse(r, "AuthorizationPermissionMismatch", NULL);
}

static bool check_period(fakes3_request_t* r) {
  int64_t start = INT64_MIN, end;
  s3l_span_t from = fakes3_param_value(r, "st");
  bool good = s3l_time_parse_rfc3339(fakes3_param_value(r, "se"), &end) &&
              (from.n == 0 || s3l_time_parse_rfc3339(from, &start));
  return (good && r->arrived_ms >= start && r->arrived_ms < end) ||
         refuse(r, "Signature not valid in the specified time frame.");
}

static bool check_sas(fakes3_request_t* r) {
  const fakes3_key_t* key = find_account(r);
  s3l_span_t version = fakes3_param_value(r, "sv");
  fakes3_bytes_t string = {NULL, 0, 0};
  if (key == NULL)
    return refuse(r, "There is no such account.");
  if (version.n != strlen(SAS_VERSION_MIN) || memcmp(version.p, SAS_VERSION_MIN, version.n) < 0)
    return refuse(r, "Only SAS of version " SAS_VERSION_MIN " and later are known here.");
  bool good = fakes3_param(r, "ss") != NULL ? put_account_sas(&string, r, key->access_key)
                                            : put_service_sas(&string, r, key->access_key);
  if (!good)
    (void)refuse(r, "sr is mandatory, and b or c.");
  good = good && check_signature(r, key, &string, fakes3_param_value(r, "sig")) &&
         check_period(r) && check_permission(r);
  fakes3_bytes_free(&string);
  return good;
}

/* ---- All of them ---- */

bool fakes3_azure_auth(fakes3_request_t* r) {
  s3l_span_t text = fakes3_header_value(r, "authorization");
  if (text.p == NULL && fakes3_param(r, "sig") != NULL)
    return check_sas(r);
  if (text.p == NULL)
    return fakes3_refuse(r, "NoAuthenticationInformation", NULL);
  s3l_span_t scheme = fakes3_take(&text, ' ');
  if (s3l_span_eq(scheme, S3L_SPAN("SharedKey")))
    return check_shared_key(r, text);
  return fakes3_bearer(r).p != NULL || fakes3_refuse(r, "InvalidAuthenticationInfo", NULL);
}

s3l_span_t fakes3_azure_access_key(const fakes3_request_t* r) {
  s3l_span_t holder = fakes3_bearer(r);
  const fakes3_key_t* key = NULL;
  if (holder.p == NULL &&
      (fakes3_header(r, "authorization") != NULL || fakes3_param(r, "sig") != NULL))
    key = find_account(r);
  return key != NULL ? s3l_span_cstr(key->access_key) : holder;
}
