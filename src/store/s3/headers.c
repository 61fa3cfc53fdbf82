#include "store/s3/headers.h"

#include <string.h>

#include "store/source.h"
#include "util/assert.h"
#include "util/buf.h"
#include "util/mem.h"

#define SSE        "x-amz-server-side-encryption"
#define SSE_KMS_ID "x-amz-server-side-encryption-aws-kms-key-id"

#define OWN        "s3lect sets this header itself; leave it away"
#define HOP        "belongs to the connection, not to the request; leave it away"
#define CONDITION  "the conditions of a write are what the election stands on; leave it away"
#define DIGEST     "cannot be the same for every write; set the option checksum in its place"
#define OTHER      "would make something else of the write; leave it away"

S3L_STATIC_ASSERT(S3L_S3_HEADERS_MAX == 12 && S3L_S3_HEADERS_BYTES == 3072 &&
                      S3L_S3_HEADER_NAME_MAX == 64,
                  "messages name the limits");

/* Headers that are refused; a '*' at the end stands for any ending. */
static const struct {
  const char* name;
  const char* reason;
} refused[] = {
    {"accept-encoding", OWN},
    {"authorization", OWN},
    {"connection", HOP},
    {"content-encoding", OTHER},
    {"content-length", OWN},
    {"content-md5", DIGEST},
    {"content-range", OTHER},
    {"content-type", OWN},
    {"date", OWN},
    {"expect", HOP},
    {"host", OWN},
    {"if-*", CONDITION},
    {"keep-alive", HOP},
    {"proxy-*", HOP},
    {"range", OTHER},
    {"te", HOP},
    {"trailer", HOP},
    {"transfer-encoding", HOP},
    {"upgrade", HOP},
    {"user-agent", OWN},
    {"x-amz-checksum-*", DIGEST},
    {"x-amz-content-sha256", OWN},
    {"x-amz-copy-source*", OTHER},
    {"x-amz-date", OWN},
    {"x-amz-decoded-content-length", OTHER},
    {"x-amz-expected-bucket-owner",
     "is wanted on every request; the bucket's owner is an option of its own"},
    {"x-amz-if-*", CONDITION},
    {"x-amz-sdk-checksum-algorithm", DIGEST},
    {"x-amz-security-token", OWN},
    {SSE "-customer-*", "keys of the customer's own (SSE-C) are not supported; use aws:kms"},
    {"x-amz-trailer", OTHER},
    {"x-amz-write-offset-bytes", OTHER},
};

typedef struct reading_s {
  s3l_s3_headers_t* out;
  s3lect_error_t* error;
  size_t bytes;
} reading_t;

static int fail(const reading_t* r, const char* name, const char* value, const char* reason) {
  return s3l_error_say(r->error, S3LECT_EOPTION, name, value, "%s", reason);
}

/* RFC 9110 section 5.6.2. */
static bool is_token(s3l_span_t s) {
  static const char others[] = "!#$%&'*+-.^_`|~";
  for (size_t i = 0; i < s.n; i++) {
    char c = s.p[i];
    bool alnum = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (!alnum && (c == '\0' || strchr(others, c) == NULL))
      return false;
  }
  return s.n > 0;
}

/* Stores disagree about bytes above ASCII, so that signatures would not match. */
static bool is_text(s3l_span_t s) {
  for (size_t i = 0; i < s.n; i++) {
    unsigned char c = (unsigned char)s.p[i];
    if ((c < 0x20 && c != '\t') || c >= 0x7f)
      return false;
  }
  return s.n > 0;
}

static const char* why_refused(s3l_span_t name) {
  for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
    s3l_span_t entry = s3l_span_cstr(refused[i].name);
    s3l_span_t part = name;
    if (entry.p[entry.n - 1] == '*') {
      entry.n--;
      part.n = part.n < entry.n ? part.n : entry.n;
    }
    if (s3l_span_ieq(part, entry))
      return refused[i].reason;
  }
  return NULL;
}

/* `option` and `given` name the header in an error message. */
static int add(reading_t* r, s3l_span_t name, s3l_span_t value, const char* option,
               const char* given) {
  for (size_t i = 0; i < r->out->len; i++) {
    if (s3l_span_ieq(r->out->pairs[i].name, name))
      return fail(r, option, given, "this header is given twice; give it once");
  }
  r->bytes += name.n + value.n;
  if (r->out->len == S3L_S3_HEADERS_MAX)
    return fail(r, option, given, "too many headers; at most 12, those of encryption included");
  if (r->bytes > S3L_S3_HEADERS_BYTES)
    return fail(r, option, given, "the headers are too long; at most 3072 bytes in all");
  r->out->pairs[r->out->len++] = (s3l_sigv4_pair_t){name, value};
  return 0;
}

static int read_header(reading_t* r, const char* line) {
  const char* colon = line != NULL ? strchr(line, ':') : NULL;
  if (colon == NULL)
    return fail(r, "headers", line != NULL ? line : "",
                "not a header; write it as \"Name: value\"");
  s3l_span_t name = {line, (size_t)(colon - line)};
  s3l_span_t value = s3l_span_trim(s3l_span_cstr(colon + 1));
  if (!is_token(name) || name.n > S3L_S3_HEADER_NAME_MAX)
    return fail(r, "headers", line,
                "not a header's name before the colon; use at most 64 letters, digits and '-'");
  if (!is_text(value))
    return fail(r, "headers", line,
                "not a header's value behind the colon; use printable ASCII characters");
  const char* reason = why_refused(name);
  return reason != NULL ? fail(r, "headers", line, reason) : add(r, name, value, "headers", line);
}

static int read_encryption(reading_t* r, const s3lect_store_s3_options_t* o) {
  const char* kind = s3l_set_or_null(o->server_side_encryption);
  const char* key = s3l_set_or_null(o->sse_kms_key_id);
  bool kms = kind != NULL && (strcmp(kind, "aws:kms") == 0 || strcmp(kind, "aws:kms:dsse") == 0);
  if (kind != NULL && !kms && strcmp(kind, "AES256") != 0)
    return fail(r, "server_side_encryption", kind,
                "not a kind of encryption; use AES256, aws:kms or aws:kms:dsse");
  if (key != NULL && !kms)
    return fail(r, "sse_kms_key_id", key,
                "is for encryption with aws:kms or aws:kms:dsse; ask for one of them, too");
  if (key != NULL && (!is_text(s3l_span_cstr(key)) || key[strcspn(key, " \t")] != '\0'))
    return fail(r, "sse_kms_key_id", key,
                "not a key; give its ID, or its ARN (arn:aws:kms:REGION:ACCOUNT:key/ID)");
  int err = 0;
  if (kind != NULL)
    err = add(r, S3L_SPAN(SSE), s3l_span_cstr(kind), "server_side_encryption", kind);
  if (err == 0 && key != NULL)
    err = add(r, S3L_SPAN(SSE_KMS_ID), s3l_span_cstr(key), "sse_kms_key_id", key);
  return err;
}

static int read_owner(reading_t* r, const char* owner) {
  if (s3l_set_or_null(owner) == NULL)
    return 0;
  if (strlen(owner) != 12 || strspn(owner, "0123456789") != 12)
    return fail(r, "expected_bucket_owner", owner,
                "not an AWS account; give its 12 digits, without dashes");
  r->out->owner = s3l_span_cstr(owner);
  return 0;
}

int s3l_s3_headers_read(const s3lect_store_s3_options_t* options, s3l_s3_headers_t* out,
                        s3lect_error_t* error) {
  reading_t r = {.out = out, .error = error};
  memset(out, 0, sizeof(*out));
  if (options->headers_len > 0 && options->headers == NULL)
    return fail(&r, "headers_len", NULL, "not 0, although headers is not set");
  int err = read_encryption(&r, options);
  for (size_t i = 0; err == 0 && i < options->headers_len; i++)
    err = read_header(&r, options->headers[i]);
  if (err == 0)
    err = read_owner(&r, options->expected_bucket_owner);
  if (err == 0 && options->checksum != 0 && options->checksum != 1)
    err = fail(&r, "checksum", NULL, "not 0 or 1");
  out->checksum = options->checksum == 1;
  return err;
}

static s3l_span_t keep(s3l_buf_t* b, s3l_span_t s) {
  s3l_span_t kept = {b->p + b->len, s.n};
  s3l_buf_put(b, s);
  return kept;
}

s3l_s3_headers_t* s3l_s3_headers_copy(const s3l_s3_headers_t* from) {
  size_t bytes = from->owner.n;
  s3l_buf_t b;
  for (size_t i = 0; i < from->len; i++)
    bytes += from->pairs[i].name.n + from->pairs[i].value.n;
  s3l_s3_headers_t* to = s3l_calloc(1, sizeof(*to) + bytes);
  if (to == NULL)
    return NULL;
  *to = *from;
  s3l_buf_init(&b, (char*)(to + 1), bytes);
  to->owner = keep(&b, from->owner);
  for (size_t i = 0; i < from->len; i++)
    to->pairs[i] =
        (s3l_sigv4_pair_t){keep(&b, from->pairs[i].name), keep(&b, from->pairs[i].value)};
  return to;
}
