#include "wire/azure_request.h"

#include <string.h>

#include "s3lect/errno.h"
#include "util/base64.h"
#include "util/mem.h"
#include "util/timefmt.h"

#define PARAMS_MAX       5
#define KEY_MAX          192 /* bytes; account keys have 64 */
#define TEXT_TO_SIGN_MAX (S3L_DRAFT_PATH_MAX + S3L_DRAFT_QUERY_MAX + 2048)

bool s3l_azure_is_sas(s3l_span_t token) {
  static const char signature[] = "sig=";
  for (; token.n >= sizeof(signature) - 1; s3l_span_skip(&token, 1)) {
    if (memcmp(token.p, signature, sizeof(signature) - 1) == 0)
      return true;
  }
  return false;
}

bool s3l_azure_sas_fits(s3l_span_t sas) {
  return s3l_span_is_visible(sas) && memchr(sas.p, '#', sas.n) == NULL;
}

/* ---- Signing ---- */

static s3l_span_t header_of(const s3l_draft_t* d, s3l_span_t name) {
  for (size_t i = 0; i < d->sig.headers_len; i++) {
    if (s3l_span_eq(d->headers[i].name, name))
      return d->headers[i].value;
  }
  return S3L_SPAN("");
}

static void put_line(s3l_buf_t* b, s3l_span_t value) {
  s3l_buf_put(b, value);
  s3l_buf_putc(b, '\n');
}

static void put_pair(s3l_buf_t* b, const s3l_sigv4_pair_t* pair) {
  s3l_buf_put(b, pair->name);
  s3l_buf_putc(b, ':');
  s3l_buf_put(b, pair->value);
}

/* The headers' order is that of Azure's description. Those that are never sent are empty lines. */
void s3l_azure_string_to_sign(s3l_buf_t* b, const s3l_draft_t* d, s3l_span_t account,
                              const s3l_sigv4_pair_t* params, size_t n) {
  const s3l_span_t none = S3L_SPAN("");
  put_line(b, d->sig.method);
  put_line(b, none); /* content-encoding */
  put_line(b, none); /* content-language */
  if (d->request->op == S3L_S3_PUT && d->request->body.n > 0)
    s3l_buf_u64(b, d->request->body.n);
  put_line(b, none); /* after the content's length */
  put_line(b, none); /* content-md5 */
  put_line(b, header_of(d, S3L_SPAN("content-type")));
  put_line(b, none); /* date: x-ms-date stands for it */
  put_line(b, none); /* if-modified-since */
  put_line(b, header_of(d, S3L_SPAN("if-match")));
  put_line(b, header_of(d, S3L_SPAN("if-none-match")));
  put_line(b, none); /* if-unmodified-since */
  put_line(b, none); /* range */
  for (size_t i = 0; i < d->sig.headers_len; i++) {
    if (s3l_span_starts_with(d->headers[i].name, S3L_SPAN("x-ms-"))) {
      put_pair(b, &d->headers[i]);
      s3l_buf_putc(b, '\n');
    }
  }
  s3l_buf_putc(b, '/');
  s3l_buf_put(b, account);
  s3l_buf_put(b, d->sig.path);
  for (size_t i = 0; i < n; i++) {
    s3l_buf_putc(b, '\n');
    put_pair(b, &params[i]);
  }
}

bool s3l_azure_signature(s3l_sha256_t* engine, s3l_span_t key, s3l_span_t text, s3l_buf_t* b) {
  uint8_t secret[KEY_MAX];
  uint8_t mac[S3L_SHA256_SIZE];
  s3l_hmac_key_t prepared;
  ssize_t n = s3l_base64_decode(key, secret, sizeof(secret));
  bool good = n > 0 &&
              s3l_hmac_prepare(engine, (s3l_span_t){(char*)secret, (size_t)n}, &prepared) &&
              s3l_hmac(engine, &prepared, text, mac);
  if (good)
    s3l_base64_encode(b, mac, sizeof(mac));
  s3l_wipe(secret, sizeof(secret));
  s3l_wipe(&prepared, sizeof(prepared));
  return good && !b->overflow;
}

static int put_shared_key(s3l_buf_t* b, const s3l_draft_t* d, s3l_sha256_t* engine,
                          const s3l_sigv4_pair_t* params, size_t n) {
  char text[TEXT_TO_SIGN_MAX];
  s3l_buf_t to_sign;
  s3l_buf_init(&to_sign, text, sizeof(text));
  s3l_azure_string_to_sign(&to_sign, d, d->keys->access_key, params, n);
  s3l_buf_put(b, S3L_SPAN("authorization: SharedKey "));
  s3l_buf_put(b, d->keys->access_key);
  s3l_buf_putc(b, ':');
  if (to_sign.overflow || b->overflow)
    return S3LECT_ETOOBIG;
  if (!s3l_azure_signature(engine, d->keys->secret, s3l_buf_span(&to_sign), b))
    return b->overflow ? S3LECT_ETOOBIG : S3LECT_EOPTION;
  s3l_buf_put(b, S3L_SPAN("\r\n"));
  return 0;
}

/* ---- The request ---- */

/* Sorted by name, as they are signed. */
static size_t list_params(const s3l_s3_request_t* r, s3l_buf_t* number,
                          s3l_sigv4_pair_t params[PARAMS_MAX]) {
  size_t n = 0;
  s3l_buf_u64(number, r->max_keys);
  params[n++] = (s3l_sigv4_pair_t){S3L_SPAN("comp"), S3L_SPAN("list")};
  if (r->after.n > 0)
    params[n++] = (s3l_sigv4_pair_t){S3L_SPAN("marker"), r->after};
  params[n++] = (s3l_sigv4_pair_t){S3L_SPAN("maxresults"), s3l_buf_span(number)};
  if (r->key.n > 0)
    params[n++] = (s3l_sigv4_pair_t){S3L_SPAN("prefix"), r->key};
  params[n++] = (s3l_sigv4_pair_t){S3L_SPAN("restype"), S3L_SPAN("container")};
  return n;
}

/* Sorted by name, as they are signed. */
static void draft_headers(s3l_draft_t* d, const char* date) {
  const s3l_s3_request_t* r = d->request;
  if (r->op == S3L_S3_PUT)
    s3l_draft_header(d, S3L_SPAN("content-type"), S3L_SPAN("application/json"));
  s3l_draft_header(d, S3L_SPAN("host"), d->target->host);
  if (r->if_match.p != NULL)
    s3l_draft_header(d, S3L_SPAN("if-match"), r->if_match);
  if (r->if_none_match.p != NULL)
    s3l_draft_header(d, S3L_SPAN("if-none-match"), r->if_none_match);
  if (r->op == S3L_S3_PUT)
    s3l_draft_header(d, S3L_SPAN("x-ms-blob-type"), S3L_SPAN("BlockBlob"));
  s3l_draft_header(d, S3L_SPAN("x-ms-date"), s3l_span_cstr(date));
  s3l_draft_header(d, S3L_SPAN("x-ms-version"), S3L_SPAN(S3L_AZURE_VERSION));
}

static void put_bearer(s3l_buf_t* b, s3l_span_t token) {
  s3l_buf_put(b, S3L_SPAN("authorization: Bearer "));
  s3l_buf_put(b, token);
  s3l_buf_put(b, S3L_SPAN("\r\n"));
}

int s3l_azure_request_write(s3l_sha256_t* engine, const s3l_s3_target_t* target,
                            const s3l_s3_keys_t* keys, const s3l_s3_request_t* request,
                            int64_t time_ms, char* buf, size_t cap, size_t* len) {
  s3l_draft_t d;
  s3l_buf_t b, number;
  s3l_sigv4_pair_t params[PARAMS_MAX];
  char date[S3L_TIME_HTTP_SIZE], digits[20];
  bool has_key = keys->access_key.n > 0;
  bool has_sas = !has_key && s3l_azure_is_sas(keys->token);
  size_t n = 0;
  int err = 0;
  *len = 0;
  s3l_buf_init(&number, digits, sizeof(digits));
  if (request->op == S3L_S3_LIST)
    n = list_params(request, &number, params);
  if ((!has_key && keys->token.n == 0) || (has_sas && !s3l_azure_sas_fits(keys->token)) ||
      !s3l_time_format_http(time_ms, date) || !s3l_draft_begin(&d, NULL, target, keys, request) ||
      (n > 0 && !s3l_draft_query(&d, params, n)))
    return S3LECT_EOPTION;
  draft_headers(&d, date);
  if (has_sas)
    d.grant = keys->token;
  s3l_buf_init(&b, buf, cap);
  s3l_draft_put_head(&d, &b);
  if (has_key)
    err = put_shared_key(&b, &d, engine, params, n);
  else if (!has_sas)
    put_bearer(&b, keys->token);
  s3l_draft_put_rest(&d, &b);
  if (err == 0 && b.overflow)
    err = S3LECT_ETOOBIG;
  if (err == 0)
    *len = b.len;
  return err;
}
