/* Options of a store behind HTTP and what the environment adds to them.
 *
 * Input: a digit for the store (0: S3, 1: Azure, 2: Google), one each for S3's addressing and for
 * the connections, then a line for each of the store's fields below. A line "-" stands for: not
 * set. What begins with "secret" in a field that may hold a secret is one. */
#include "credentials/credentials.h"
#include "fuzz.h"
#include "store/azure/options.h"
#include "store/gcs/options.h"
#include "store/s3/options.h"
#include "wire/aws_host.h"
#include "wire/azure_request.h"

enum { LINES = 20 };

typedef enum { SHOWN, SECRET, URL /* may have a secret before an '@', or behind a '?' */ } kind_t;

/* Where a line goes: into an option, a variable, or (neither) where the store's target says. */
typedef struct field_s {
  const char* variable;
  int option; /* offset; 0: none */
  kind_t kind;
} field_t;

#define OPTION(store, name, kind)                                                                  \
  { NULL, (int)offsetof(s3lect_store_##store##_options_t, name), kind }
#define VARIABLE(name, kind)                                                                       \
  { name, 0, kind }
#define OTHER                                                                                      \
  { NULL, 0, SHOWN }

enum { S3_HEADERS = 12, S3_NAMED = 19 };

static const field_t s3_fields[LINES] = {
    OPTION(s3, endpoint, URL),
    OPTION(s3, bucket, SHOWN),
    OPTION(s3, region, SHOWN),
    OPTION(s3, access_key_id, SHOWN),
    OPTION(s3, secret_access_key, SECRET),
    OPTION(s3, session_token, SECRET),
    OPTION(s3, ca_file, SHOWN),
    VARIABLE("AWS_ENDPOINT_URL", URL),
    VARIABLE("AWS_REGION", SHOWN),
    VARIABLE("AWS_ACCESS_KEY_ID", SHOWN),
    VARIABLE("AWS_SECRET_ACCESS_KEY", SECRET),
    VARIABLE("AWS_SESSION_TOKEN", SECRET),
    OTHER, /* two headers */
    OTHER,
    OPTION(s3, server_side_encryption, SHOWN),
    OPTION(s3, sse_kms_key_id, SHOWN),
    OPTION(s3, expected_bucket_owner, SHOWN),
    VARIABLE("AWS_USE_DUALSTACK_ENDPOINT", SHOWN),
    OPTION(s3, proxy, URL),
    OTHER, /* a region that a reply names, or a host with one */
};

static const field_t azure_fields[LINES] = {
    OPTION(azure, account, SHOWN),
    OPTION(azure, container, SHOWN),
    OPTION(azure, endpoint, URL),
    OPTION(azure, account_key, SECRET),
    OPTION(azure, sas_token, SECRET),
    OPTION(azure, connection_string, SECRET),
    OPTION(azure, ca_file, SHOWN),
    OPTION(azure, proxy, URL),
    VARIABLE("AZURE_STORAGE_ACCOUNT", SHOWN),
    VARIABLE("AZURE_STORAGE_CONNECTION_STRING", SECRET),
    VARIABLE("AZURE_STORAGE_KEY", SECRET),
    VARIABLE("AZURE_STORAGE_SAS_TOKEN", SECRET),
};

static const field_t gcs_fields[LINES] = {
    OPTION(gcs, bucket, SHOWN),
    OPTION(gcs, endpoint, URL),
    OPTION(gcs, access_key_id, SHOWN),
    OPTION(gcs, secret_access_key, SECRET),
    OPTION(gcs, ca_file, SHOWN),
    OPTION(gcs, proxy, URL),
    VARIABLE(S3L_GCS_EMULATOR, URL),
    VARIABLE("GS_ACCESS_KEY_ID", SHOWN),
    VARIABLE("GS_SECRET_ACCESS_KEY", SECRET),
};

extern char** environ;

/* The machine's own files say nothing. */
static char no_config[] = "AWS_CONFIG_FILE=/dev/null";
static char no_credentials[] = "AWS_SHARED_CREDENTIALS_FILE=/dev/null";

static char* environment[LINES + 3];

static char* make_variable(const char* name, const char* value) {
  size_t n = strlen(name) + strlen(value) + 2;
  char* text = malloc(n);
  FUZZ_CHECK(text != NULL);
  (void)snprintf(text, n, "%s=%s", name, value);
  return text;
}

/* Reads the lines, and sets the options and the variables. The environment has no others; setenv
 * would keep the memory of each value that it ever got. */
static void take_fields(fuzz_input_t* in, const field_t* fields, void* options,
                        char* lines[LINES]) {
  size_t n = 0;
  for (int i = 0; i < LINES; i++) {
    s3l_span_t line = fuzz_line(in);
    lines[i] = s3l_span_eq(line, S3L_SPAN("-")) ? NULL : fuzz_string(line);
    if (fields[i].option > 0)
      *(const char**)(void*)((char*)options + fields[i].option) = lines[i];
    if (fields[i].variable != NULL && lines[i] != NULL)
      environment[n++] = make_variable(fields[i].variable, lines[i]);
  }
  environment[n++] = no_config;
  environment[n++] = no_credentials;
  environment[n] = NULL;
  environ = environment;
}

static void free_fields(char* lines[LINES]) {
  static char* nothing[] = {NULL};
  environ = nothing;
  for (size_t i = 0; environment[i] != no_config; i++)
    free(environment[i]);
  for (int i = 0; i < LINES; i++)
    free(lines[i]);
}

/* ---- What holds for each store ---- */

/* The secret in a line, if there is one that is long enough not to be part of anything else. */
static bool find_secret(const field_t* field, const char* line, char* secret, size_t cap) {
  const char* at = field->kind == SHOWN || line == NULL ? NULL : strstr(line, "secret");
  const char* query = at != NULL ? strchr(line, '?') : NULL;
  if (at == NULL ||
      (field->kind == URL && strchr(at, '@') == NULL && (query == NULL || query > at)))
    return false;
  return s3l_span_copy((s3l_span_t){at, strcspn(at, ";&@? \t")}, secret, cap) &&
         strlen(secret) >= 12;
}

static void check_message(const char* message, const field_t* fields, char* const* lines) {
  char secret[256];
  FUZZ_CHECK(message != NULL && message[0] != '\0' && fuzz_is_line(message));
  for (int i = 0; i < LINES; i++) {
    if (!find_secret(&fields[i], lines[i], secret, sizeof(secret)))
      continue;
    bool repeated = false;
    for (int k = 0; k < LINES; k++)
      repeated |= k != i && lines[k] != NULL && strstr(lines[k], secret) != NULL;
    FUZZ_CHECK(repeated || strstr(message, secret) == NULL);
  }
}

static void check_remote(const s3l_remote_config_t* c) {
  FUZZ_CHECK(c->host[0] != '\0' && strlen(c->host) <= 253 && c->http.host == c->host);
  FUZZ_CHECK(fuzz_is_line(c->host_header) && strchr(c->host_header, ' ') == NULL &&
             strstr(c->host_header, c->host) != NULL);
  FUZZ_CHECK(c->http.port > 0 && c->http.max_connections > 0 && c->http.max_connections <= 1024);
  FUZZ_CHECK((c->access_key == NULL) == (c->secret == NULL));
  FUZZ_CHECK(c->access_key == NULL || (fuzz_is_line(c->access_key) && fuzz_is_line(c->secret)));
  FUZZ_CHECK(c->token == NULL ||
             (fuzz_is_line(c->token) && strlen(c->token) <= S3L_CREDS_TOKEN_MAX));
}

/* Tokens are sent over TLS, or to this machine. */
static void check_takes_token(const s3l_remote_config_t* c) {
  s3l_span_t host = s3l_span_cstr(c->host);
  FUZZ_CHECK(c->http.tls || s3l_span_starts_with(host, S3L_SPAN("127.")) ||
             s3l_span_starts_with(host, S3L_SPAN("169.254.")) ||
             s3l_span_ieq(host, S3L_SPAN("localhost")) || s3l_span_eq(host, S3L_SPAN("::1")) ||
             (s3l_span_ieq((s3l_span_t){c->host, 8}, S3L_SPAN("fd00:ec2")) && host.n > 8));
}

/* ---- S3 ---- */

/* Nothing in it can end the line, nor take the place of what s3lect sends itself. */
static void check_header(const s3l_sigv4_pair_t* h) {
  FUZZ_CHECK(h->name.n > 0 && h->name.n <= 64 && h->value.n > 0 && h->value.n <= 3072);
  for (size_t i = 0; i < h->name.n; i++)
    FUZZ_CHECK(h->name.p[i] > ' ' && h->name.p[i] < 0x7f && h->name.p[i] != ':');
  for (size_t i = 0; i < h->value.n; i++)
    FUZZ_CHECK((h->value.p[i] >= ' ' && h->value.p[i] < 0x7f) || h->value.p[i] == '\t');
  FUZZ_CHECK(!s3l_span_ieq(h->name, S3L_SPAN("host")));
  FUZZ_CHECK(!s3l_span_ieq(h->name, S3L_SPAN("if-match")));
  FUZZ_CHECK(!s3l_span_ieq(h->name, S3L_SPAN("content-length")));
}

/* A reply may name what it likes: AWS's host stays one of its own partition, any other where it is.
 */
static void check_move(s3l_s3_endpoint_t* e, s3l_span_t named) {
  s3l_s3_endpoint_t before = *e;
  s3l_span_t suffix = s3l_aws_suffix(s3l_span_cstr(e->region));
  s3l_span_t found = s3l_aws_region_of_host(named);
  FUZZ_CHECK(found.p == NULL || s3l_aws_is_region(found));
  if (!s3l_s3_endpoint_move(e, named)) {
    FUZZ_CHECK(memcmp(e, &before, sizeof(before)) == 0);
    return;
  }
  FUZZ_CHECK(s3l_span_eq(s3l_span_cstr(e->region), named));
  if (!e->aws) {
    FUZZ_CHECK(strcmp(e->host_header, before.host_header) == 0);
    return;
  }
  s3l_span_t host = s3l_span_cstr(e->host);
  FUZZ_CHECK(host.n > suffix.n && e->tls && strcmp(e->host, e->host_header) == 0);
  FUZZ_CHECK(s3l_span_eq((s3l_span_t){host.p + host.n - suffix.n, suffix.n}, suffix));
  FUZZ_CHECK(s3l_span_eq(s3l_aws_region_of_host(host), named));
}

static void check_s3(s3l_s3_config_t* c, s3l_span_t named) {
  const s3l_s3_endpoint_t* e = &c->endpoint;
  FUZZ_CHECK(e->bucket[0] != '\0' && strcmp(c->remote.host, e->host) == 0 &&
             strcmp(c->remote.host_header, e->host_header) == 0);
  FUZZ_CHECK(e->path_style || strncmp(e->host, e->bucket, strlen(e->bucket)) == 0);
  FUZZ_CHECK(e->region[0] != '\0' && strcspn(e->region, "/\r\n ") == strlen(e->region));
  for (size_t i = 0; i < c->headers.len; i++)
    check_header(&c->headers.pairs[i]);
  check_remote(&c->remote);
  check_move(&c->endpoint, named);
}

static int try_s3(fuzz_input_t* in, char* lines[LINES], s3lect_error_t* error) {
  s3lect_store_s3_options_t o;
  s3l_s3_config_t config;
  const char* headers[2];
  s3lect_store_s3_options_init(&o, sizeof(o));
  o.addressing = (int32_t)fuzz_choice(in, 4);
  o.max_connections = fuzz_choice(in, 10) * 200;
  (void)fuzz_line(in);
  take_fields(in, s3_fields, &o, lines);
  o.headers = headers;
  for (int i = S3_HEADERS; i < S3_HEADERS + 2; i++) {
    if (lines[i] != NULL && lines[i][0] != '\0') /* inputs may end before it */
      headers[o.headers_len++] = lines[i];
  }
  int err = s3l_s3_configure(&o, &config, error);
  if (err == 0)
    check_s3(&config, s3l_span_cstr(lines[S3_NAMED]));
  return err;
}

/* ---- Azure ---- */

static void check_azure(const s3l_azure_config_t* c, const char* container) {
  size_t account = strlen(c->account), path = strlen(c->path), n = strlen(container);
  FUZZ_CHECK(account >= 3 && strspn(c->account, "abcdefghijklmnopqrstuvwxyz0123456789") == account);
  FUZZ_CHECK(c->remote.bucket == c->path && path >= n &&
             strcmp(c->path + path - n, container) == 0);
  FUZZ_CHECK(path == n || (c->path[0] != '/' && c->path[path - n - 1] == '/'));
  FUZZ_CHECK(fuzz_is_line(c->path) && strpbrk(c->path, " ?#") == NULL);
  FUZZ_CHECK(c->remote.access_key == NULL || (c->remote.access_key == c->account &&
                                              c->remote.secret == c->key && c->key[0] != '\0'));
  FUZZ_CHECK(c->remote.token == NULL || c->remote.access_key == NULL);
  FUZZ_CHECK(c->remote.token == NULL ||
             (s3l_azure_is_sas(s3l_span_cstr(c->sas)) && strpbrk(c->sas, " #") == NULL));
  check_remote(&c->remote);
  if (c->remote.access_key == NULL)
    check_takes_token(&c->remote);
}

static int try_azure(fuzz_input_t* in, char* lines[LINES], s3lect_error_t* error) {
  s3lect_store_azure_options_t o;
  s3l_azure_config_t config;
  s3lect_store_azure_options_init(&o, sizeof(o));
  (void)fuzz_line(in);
  take_fields(in, azure_fields, &o, lines);
  int err = s3l_azure_configure(&o, &config, error);
  if (err == 0)
    check_azure(&config, o.container);
  return err;
}

/* ---- Google ---- */

static int try_gcs(fuzz_input_t* in, char* lines[LINES], s3lect_error_t* error) {
  s3lect_store_gcs_options_t o;
  s3l_gcs_config_t config;
  s3lect_store_gcs_options_init(&o, sizeof(o));
  (void)fuzz_line(in);
  take_fields(in, gcs_fields, &o, lines);
  int err = s3l_gcs_configure(&o, &config, error);
  if (err != 0)
    return err;
  size_t n = strlen(o.bucket);
  FUZZ_CHECK(config.remote.bucket == o.bucket && n >= 3 && n < S3L_GCS_BUCKET_MAX &&
             strspn(o.bucket, "abcdefghijklmnopqrstuvwxyz0123456789-_.") == n);
  check_remote(&config.remote);
  if (config.takes_token && !config.emulator)
    check_takes_token(&config.remote);
  FUZZ_CHECK(config.takes_token || config.remote.access_key != NULL);
  return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const struct {
    const field_t* fields;
    int (*try)(fuzz_input_t* in, char* lines[LINES], s3lect_error_t* error);
  } stores[] = {{s3_fields, try_s3}, {azure_fields, try_azure}, {gcs_fields, try_gcs}};
  fuzz_input_t in = {data, size};
  s3lect_error_t error;
  char* lines[LINES];
  unsigned store = fuzz_choice(&in, 3);
  int err = stores[store].try(&in, lines, &error);
  FUZZ_CHECK(err <= 0);
  if (err != 0)
    check_message(error.text, stores[store].fields, lines);
  free_fields(lines);
  return 0;
}
