#include "store/s3_options.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "creds/creds.h"
#include "net/tls_context.h"
#include "store/option_text.h"
#include "util/sized.h"
#include "util/url.h"
#include "wire/sigv4.h"

#define CONNECT_MS       1000
#define TLS_MS           2000
#define IDLE_MS          10000
#define CONNECTIONS      8
#define CONNECTIONS_MAX  1024
#define DEFAULT_REGION   "us-east-1"
#define DIRECTORY_BUCKET "--x-s3"

/* An option's value together with the name of where it came from. */
typedef struct source_s {
  const char* name;
  const char* value; /* NULL: not set */
} source_t;

typedef struct build_s {
  const s3lect_s3_options_t* o;
  s3l_s3_config_t* c;
  s3l_buf_t* message;
  bool custom_endpoint;
} build_t;

static int fail(const build_t* b, int err, const char* name, const char* value,
                const char* reason) {
  return s3l_option_fail(b->message, err, name, value, reason);
}

static const char* set_or_null(const char* s) {
  return s != NULL && s[0] != '\0' ? s : NULL;
}

/* The option, else the first of two environment variables that is set. */
static source_t choose(const char* option_name, const char* option, const char* env1,
                       const char* env2) {
  const char* names[3] = {option_name, env1, env2};
  const char* value = set_or_null(option);
  for (int i = 1; value == NULL && i < 3; i++) {
    if (names[i] != NULL && (value = set_or_null(getenv(names[i]))) != NULL)
      return (source_t){names[i], value};
  }
  return (source_t){option_name, value};
}

/* ---- Bucket ---- */

static bool is_lower_alnum(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

static bool is_upper(char c) {
  return c >= 'A' && c <= 'Z';
}

static bool bucket_is_valid(const char* s, bool custom_endpoint) {
  size_t n = strlen(s);
  if (n < 3 || n > (custom_endpoint ? S3L_S3_BUCKET_MAX - 1 : 63))
    return false;
  for (size_t i = 0; i < n; i++) {
    bool inner = i > 0 && i + 1 < n;
    if (is_lower_alnum(s[i]) || (inner && (s[i] == '-' || s[i] == '.')))
      continue;
    if (!custom_endpoint || !(is_upper(s[i]) || s[i] == '_'))
      return false;
  }
  return strstr(s, "..") == NULL;
}

static int build_bucket(build_t* b) {
  const char* s = set_or_null(b->o->bucket);
  if (s == NULL)
    return fail(b, S3LECT_EOPTION, "bucket", NULL,
                "not set; name the bucket that holds the lockfile");
  if (!bucket_is_valid(s, b->custom_endpoint))
    return fail(b, S3LECT_EOPTION, "bucket", s,
                b->custom_endpoint
                    ? "not a bucket name; use 3 to 255 letters, digits, '-', '.' and '_'"
                    : "not a bucket name; use 3 to 63 lower-case letters, digits, '-' and '.'");
  size_t n = strlen(s);
  if (n > strlen(DIRECTORY_BUCKET) &&
      strcmp(s + n - strlen(DIRECTORY_BUCKET), DIRECTORY_BUCKET) == 0)
    return fail(b, S3LECT_EOPTION, "bucket", s,
                "directory buckets (S3 Express) are not supported; use a general purpose bucket");
  (void)s3l_span_copy(s3l_span_cstr(s), b->c->bucket, sizeof(b->c->bucket));
  return 0;
}

/* ---- Region and endpoint ---- */

static int build_region(build_t* b) {
  source_t s = choose("region", b->o->region, "AWS_REGION", "AWS_DEFAULT_REGION");
  const char* region = s.value != NULL ? s.value : DEFAULT_REGION;
  for (const char* p = region; *p != '\0'; p++) {
    if (!is_lower_alnum(*p) && !is_upper(*p) && *p != '-' && *p != '_')
      return fail(b, S3LECT_EOPTION, s.name, region, "not a region; give one like eu-central-1");
  }
  if (!s3l_span_copy(s3l_span_cstr(region), b->c->region, sizeof(b->c->region)))
    return fail(b, S3LECT_EOPTION, s.name, region, "not a region: too long");
  return 0;
}

static int parse_endpoint(build_t* b, source_t s, s3l_url_t* url) {
  const char* reason = NULL;
  if (!s3l_url_parse(s3l_span_cstr(s.value), url, &reason))
    return fail(b, S3LECT_EOPTION, s.name, s.value, reason);
  if (url->query.p != NULL || (url->path.n > 0 && !s3l_span_eq(url->path, S3L_SPAN("/"))))
    return fail(b, S3LECT_EOPTION, s.name, s.value,
                "must end with the host or port; the bucket is an option of its own");
  return 0;
}

/* The host of AWS in the region, into `aws_host`. */
static void aws_endpoint(build_t* b, char* aws_host, size_t cap, s3l_url_t* url) {
  s3l_buf_t host;
  s3l_buf_init(&host, aws_host, cap);
  s3l_buf_puts(&host, "s3.");
  s3l_buf_puts(&host, b->c->region);
  s3l_buf_puts(&host,
               strncmp(b->c->region, "cn-", 3) == 0 ? ".amazonaws.com.cn" : ".amazonaws.com");
  *url = (s3l_url_t){.tls = true, .host = s3l_buf_span(&host), .port = 443};
}

/* Why the bucket cannot be part of the host's name, or NULL. A certificate's "*" covers one label.
 */
static const char* why_no_virtual_host(const build_t* b, const s3l_url_t* url) {
  if (s3l_url_host_is_ip(url->host))
    return "virtual-host style needs a host name in the endpoint, not an address; use path style";
  if (url->tls && strchr(b->c->bucket, '.') != NULL)
    return "virtual-host style over https cannot be used with a bucket name that has dots; use "
           "path "
           "style";
  for (const char* p = b->c->bucket; *p != '\0'; p++) {
    if (is_upper(*p) || *p == '_')
      return "virtual-host style cannot be used with this bucket name; use path style";
  }
  return NULL;
}

static int build_addressing(build_t* b, const s3l_url_t* url) {
  const char* why_not = why_no_virtual_host(b, url);
  switch (b->o->addressing) {
  case S3LECT_ADDRESSING_AUTO:
    b->c->path_style = b->custom_endpoint || why_not != NULL;
    return 0;
  case S3LECT_ADDRESSING_PATH:
    b->c->path_style = true;
    return 0;
  case S3LECT_ADDRESSING_VIRTUAL_HOST:
    b->c->path_style = false;
    return why_not == NULL ? 0 : fail(b, S3LECT_EOPTION, "addressing", NULL, why_not);
  default:
    return fail(b, S3LECT_EOPTION, "addressing", NULL,
                "not one of S3LECT_ADDRESSING_AUTO, _PATH and _VIRTUAL_HOST");
  }
}

static int build_host(build_t* b, const s3l_url_t* url) {
  s3l_buf_t host, header;
  s3l_buf_init(&host, b->c->host, sizeof(b->c->host));
  if (!b->c->path_style) {
    s3l_buf_puts(&host, b->c->bucket);
    s3l_buf_putc(&host, '.');
  }
  s3l_buf_put(&host, url->host);
  if (s3l_buf_cstr(&host) == NULL)
    return fail(b, S3LECT_EOPTION, "endpoint", NULL,
                "the host's name with the bucket in front of it is too long; use path style");
  s3l_buf_init(&header, b->c->host_header, sizeof(b->c->host_header));
  if (url->ip6)
    s3l_buf_putc(&header, '[');
  s3l_buf_put(&header, s3l_buf_span(&host));
  if (url->ip6)
    s3l_buf_putc(&header, ']');
  if (url->port != (url->tls ? 443 : 80)) {
    s3l_buf_putc(&header, ':');
    s3l_buf_u64(&header, url->port);
  }
  (void)s3l_buf_cstr(&header);
  b->c->http.host = b->c->host;
  b->c->http.port = url->port;
  b->c->http.tls = url->tls;
  return 0;
}

static int build_endpoint(build_t* b) {
  char aws_host[S3L_S3_REGION_MAX + 32];
  s3l_url_t url = {0};
  source_t s = choose("endpoint", b->o->endpoint, "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL");
  b->custom_endpoint = s.value != NULL;
  int err = build_region(b);
  if (err == 0)
    err = build_bucket(b);
  if (err != 0)
    return err;
  if (!b->custom_endpoint)
    aws_endpoint(b, aws_host, sizeof(aws_host), &url);
  else if ((err = parse_endpoint(b, s, &url)) != 0)
    return err;
  err = build_addressing(b, &url);
  return err != 0 ? err : build_host(b, &url);
}

/* ---- Credentials ---- */

static int build_credentials(build_t* b) {
  const char* names[3] = {"access_key_id", "secret_access_key", "session_token"};
  const char* values[3] = {set_or_null(b->o->access_key_id), set_or_null(b->o->secret_access_key),
                           set_or_null(b->o->session_token)};
  b->c->credentials = b->o->credentials;
  b->c->profile = set_or_null(b->o->profile);
  b->c->chain_region = set_or_null(b->o->region);
  bool keys = values[0] != NULL || values[1] != NULL || values[2] != NULL;
  if (keys + (b->c->credentials != NULL) + (b->c->profile != NULL) > 1)
    return fail(b, S3LECT_EOPTION, b->c->credentials != NULL ? "credentials" : "profile", NULL,
                "give one only of access_key_id, credentials and profile");
  if (b->c->credentials != NULL && (b->c->credentials->ops == NULL ||
                                    b->c->credentials->ops->version != S3LECT_CREDENTIALS_VERSION))
    return fail(b, S3LECT_EOPTION, "credentials", NULL, "not an open provider of this version");
  if (b->c->credentials != NULL || b->c->profile != NULL)
    return 0;
  if (!keys) {
    const s3l_creds_environment_t env = s3l_creds_environment();
    names[0] = "AWS_ACCESS_KEY_ID";
    names[1] = "AWS_SECRET_ACCESS_KEY";
    names[2] = "AWS_SESSION_TOKEN";
    values[0] = env.access_key;
    values[1] = env.secret;
    values[2] = env.token;
    if (values[0] == NULL && values[1] == NULL)
      return 0;
  }
  for (int i = 0; i < 2; i++) {
    if (values[i] == NULL)
      return fail(b, S3LECT_ECREDENTIALS, names[i], NULL,
                  "not set; access key and secret are needed together");
  }
  static const size_t limits[3] = {S3L_CREDS_ACCESS_KEY_MAX, S3L_CREDS_SECRET_MAX,
                                   S3L_CREDS_TOKEN_MAX};
  for (int i = 0; i < 3; i++) {
    size_t n = values[i] != NULL ? strlen(values[i]) : 0;
    if (n > limits[i])
      return fail(b, S3LECT_EOPTION, names[i], NULL, "too long to be one");
    for (size_t k = 0; k < n; k++) {
      /* The value itself is a secret and not shown. */
      if ((unsigned char)values[i][k] <= 0x20 || (unsigned char)values[i][k] >= 0x7f)
        return fail(b, S3LECT_EOPTION, names[i], NULL,
                    "holds a blank, a line end or another character that no key has");
    }
  }
  b->c->access_key = values[0];
  b->c->secret = values[1];
  b->c->token = values[2];
  return 0;
}

/* ---- The rest ---- */

static uint32_t or_default(uint32_t value, uint32_t fallback) {
  return value != 0 ? value : fallback;
}

static int build_connection(build_t* b) {
  s3l_http_client_options_t* h = &b->c->http;
  source_t ca = choose("ca_file", b->o->ca_file, "AWS_CA_BUNDLE", NULL);
  h->connect_timeout_ms = or_default(b->o->connect_timeout_ms, CONNECT_MS);
  h->tls_timeout_ms = or_default(b->o->tls_timeout_ms, TLS_MS);
  h->first_byte_timeout_ms = b->o->first_byte_timeout_ms;
  h->idle_timeout_ms = or_default(b->o->idle_timeout_ms, IDLE_MS);
  h->max_connections = or_default(b->o->max_connections, CONNECTIONS);
  if (h->max_connections > CONNECTIONS_MAX)
    return fail(b, S3LECT_EOPTION, "max_connections", NULL, "at most 1024");
  h->ca_file = h->tls ? ca.value : NULL;
  b->c->ca_name = ca.value != NULL ? ca.name : "TLS";
  if (h->ca_file != NULL && access(h->ca_file, R_OK) != 0)
    return fail(b, S3LECT_ETLS, ca.name, h->ca_file,
                "cannot be read; give a file of PEM certificates");
  return 0;
}

int s3l_s3_configure(const s3lect_s3_options_t* options, s3l_s3_config_t* config,
                     s3l_buf_t* message) {
  s3lect_s3_options_t known;
  build_t b = {.o = &known, .c = config, .message = message};
  memset(config, 0, sizeof(*config));
  switch (s3l_sized_copy(&known, sizeof(known), options, options->size,
                         offsetof(s3lect_s3_options_t, endpoint))) {
  case S3L_SIZED_OK:
    break;
  case S3L_SIZED_NEWER:
    return fail(&b, UV_ENOTSUP, "size", NULL, "an option is set that this version does not know");
  default:
    return fail(&b, UV_EINVAL, "size", NULL,
                "not a size of s3lect_s3_options_t; call s3lect_s3_options_init first");
  }
  int err = build_endpoint(&b);
  if (err == 0)
    err = build_credentials(&b);
  if (err == 0)
    err = build_connection(&b);
  if (err == 0)
    err = s3l_s3_headers_read(&known, &config->headers, message);
  return err;
}

void s3lect_s3_options_init(s3lect_s3_options_t* options, size_t size) {
  s3lect_s3_options_t defaults = {
      .size = size,
      .connect_timeout_ms = CONNECT_MS,
      .tls_timeout_ms = TLS_MS,
      .idle_timeout_ms = IDLE_MS,
      .max_connections = CONNECTIONS,
  };
  memset(options, 0, size);
  memcpy(options, &defaults, size < sizeof(defaults) ? size : sizeof(defaults));
}

/* Whether the authorities can be loaded, which opening the store does again. */
static int check_authorities(const s3l_s3_config_t* config, s3l_buf_t* message) {
  char why[256] = "";
  s3l_tls_context_t* context;
  if (!config->http.tls)
    return 0;
  int err = s3l_tls_context_client(config->http.ca_file, &context, why, sizeof(why));
  if (err == 0) {
    s3l_tls_context_free(context);
    return 0;
  }
  s3l_buf_puts(message, config->ca_name);
  s3l_buf_puts(message, ": ");
  s3l_buf_puts(message, why[0] != '\0' ? why : s3lect_strerror(err));
  if (err == S3LECT_ETLS)
    s3l_buf_puts(message, "; give a file of PEM certificates");
  return err;
}

int s3lect_s3_options_check(const s3lect_s3_options_t* options, char* message,
                            size_t message_size) {
  char text[640];
  s3l_s3_config_t config;
  s3l_buf_t b;
  s3l_buf_init(&b, text, sizeof(text));
  int err = s3l_s3_configure(options, &config, &b);
  if (err == 0)
    err = check_authorities(&config, &b);
  if (message_size > 0) {
    size_t n = b.len < message_size - 1 ? b.len : message_size - 1;
    memcpy(message, text, n);
    message[n] = '\0';
  }
  return err;
}
