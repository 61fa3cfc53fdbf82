#include "store/azure/options.h"

#include <string.h>

#include "credentials/service.h"
#include "util/base64.h"
#include "util/mem.h"
#include "util/versioned.h"
#include "wire/azure_request.h"

#define SUFFIX        "core.windows.net"
#define EMULATOR      "http://127.0.0.1:10000/devstoreaccount1"
#define EMULATOR_NAME "devstoreaccount1"
#define EMULATOR_KEY                                                                               \
  "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
#define SECRET_BYTES_MAX 192

/* What a connection string says; absent where it does not. */
typedef struct string_s {
  const char* name; /* of the option or variable that holds it */
  s3l_span_t protocol, account, key, suffix, endpoint, sas, emulator;
} string_t;

typedef struct build_s {
  const s3lect_store_azure_options_t* o;
  s3l_azure_config_t* c;
  s3lect_error_t* error;
  string_t string;
  s3l_source_t account;
  s3l_source_t key;
  s3l_source_t sas;
  s3l_url_t url;
} build_t;

/* The values of some options are secrets, which no message shows. */
static int refuse(const build_t* b, const char* name, const char* reason) {
  return s3l_remote_refuse(b->error, name, reason);
}

/* ---- The connection string ---- */

static const struct {
  const char* name;
  size_t offset; /* in string_t */
} string_names[] = {{"DefaultEndpointsProtocol", offsetof(string_t, protocol)},
                    {"AccountName", offsetof(string_t, account)},
                    {"AccountKey", offsetof(string_t, key)},
                    {"EndpointSuffix", offsetof(string_t, suffix)},
                    {"BlobEndpoint", offsetof(string_t, endpoint)},
                    {"SharedAccessSignature", offsetof(string_t, sas)},
                    {"UseDevelopmentStorage", offsetof(string_t, emulator)}};

static void take_value(string_t* s, s3l_span_t name, s3l_span_t value) {
  for (size_t i = 0; i < sizeof(string_names) / sizeof(string_names[0]); i++) {
    if (s3l_span_ieq(name, s3l_span_cstr(string_names[i].name)))
      *(s3l_span_t*)(void*)((char*)s + string_names[i].offset) = value;
  }
}

static int read_string(build_t* b, s3l_source_t source) {
  string_t* s = &b->string;
  s->name = source.name;
  for (s3l_span_t rest = s3l_span_cstr(source.value); rest.n > 0;) {
    const char* end = memchr(rest.p, ';', rest.n);
    s3l_span_t pair = {rest.p, end != NULL ? (size_t)(end - rest.p) : rest.n};
    const char* equals = memchr(pair.p, '=', pair.n);
    s3l_span_skip(&rest, end != NULL ? pair.n + 1 : pair.n);
    if (s3l_span_trim(pair).n == 0)
      continue;
    if (equals == NULL)
      return refuse(b, s->name, "must be NAME=VALUE pairs with ';' between them");
    s3l_span_t name = s3l_span_trim((s3l_span_t){pair.p, (size_t)(equals - pair.p)});
    s3l_span_skip(&pair, (size_t)(equals - pair.p) + 1);
    take_value(s, name, s3l_span_trim(pair));
  }
  if (s->emulator.n == 0)
    return 0;
  if (!s3l_span_ieq(s->emulator, S3L_SPAN("true")))
    return refuse(b, s->name, "UseDevelopmentStorage must be true, or be left away");
  s->account = S3L_SPAN(EMULATOR_NAME);
  s->key = S3L_SPAN(EMULATOR_KEY);
  if (s->endpoint.n == 0)
    s->endpoint = S3L_SPAN(EMULATOR);
  return 0;
}

/* ---- Where the values come from ---- */

/* The option that says who asks, if there is one; otherwise the environment may. */
static int find_sources(build_t* b) {
  const s3lect_store_azure_options_t* o = b->o;
  const char* string = s3l_set_or_null(o->connection_string);
  b->key = (s3l_source_t){"account_key", s3l_set_or_null(o->account_key)};
  b->sas = (s3l_source_t){"sas_token", s3l_set_or_null(o->sas_token)};
  int given =
      (b->key.value != NULL) + (b->sas.value != NULL) + (string != NULL) + (o->credentials != NULL);
  if (given > 1)
    return refuse(b, b->key.value != NULL ? b->key.name : "sas_token",
                  "give one only of account_key, sas_token, connection_string and credentials");
  b->account = s3l_source_choose("account", o->account, "AZURE_STORAGE_ACCOUNT", NULL);
  s3l_source_t source = {"connection_string", string};
  if (given == 0) {
    source = s3l_source_choose(source.name, NULL, "AZURE_STORAGE_CONNECTION_STRING", NULL);
    if (source.value == NULL)
      b->key = s3l_source_choose(b->key.name, NULL, "AZURE_STORAGE_KEY", NULL);
    if (source.value == NULL && b->key.value == NULL)
      b->sas = s3l_source_choose(b->sas.name, NULL, "AZURE_STORAGE_SAS_TOKEN", NULL);
  }
  return source.value != NULL ? read_string(b, source) : 0;
}

static bool account_is_valid(s3l_span_t s) {
  for (size_t i = 0; i < s.n; i++) {
    if (!(s.p[i] >= 'a' && s.p[i] <= 'z') && !(s.p[i] >= '0' && s.p[i] <= '9'))
      return false;
  }
  return s.n >= 3 && s.n < S3L_AZURE_ACCOUNT_MAX;
}

/* A key or a signature that is of another account than the requests is a mistake in the settings. A
 * name is shown only if it is valid: where a separator is missing, it has the key in it. */
static int build_account(build_t* b) {
  s3l_span_t option = s3l_span_cstr(s3l_set_or_null(b->o->account));
  s3l_span_t account = s3l_span_cstr(b->account.value);
  if (b->string.account.n > 0) {
    if (option.n > 0 && account_is_valid(b->string.account) &&
        !s3l_span_eq(option, b->string.account))
      return s3l_error_say(b->error, S3LECT_EOPTION, b->string.name, NULL,
                           "is of the account %.*s, not of %s: unset it, or name its account",
                           (int)b->string.account.n, b->string.account.p, b->o->account);
    account = b->string.account;
  }
  if (account.n == 0)
    return refuse(b, "account", "not set; name the storage account");
  if (!account_is_valid(account))
    return refuse(b, b->string.account.n > 0 ? b->string.name : b->account.name,
                  "not an account's name, which has 3 to 24 lower-case letters and digits");
  (void)s3l_span_copy(account, b->c->account, sizeof(b->c->account));
  return 0;
}

/* ---- The endpoint ---- */

static bool container_is_valid(const char* s) {
  size_t n = strlen(s);
  for (size_t i = 0; i < n; i++) {
    if (!(s[i] >= 'a' && s[i] <= 'z') && !(s[i] >= '0' && s[i] <= '9') && s[i] != '-' &&
        s[i] != '$')
      return false;
  }
  return n >= 3 && n <= 63;
}

/* Whether the host does not name the account, so that the path must. */
static bool is_bare_host(const s3l_url_t* url) {
  return s3l_url_host_is_ip(url->host) || s3l_span_ieq(url->host, S3L_SPAN("localhost"));
}

static int build_path(build_t* b) {
  const char* container = s3l_set_or_null(b->o->container);
  s3l_span_t path = b->url.path;
  s3l_buf_t out;
  if (container == NULL)
    return refuse(b, "container", "not set; name the container that holds the lockfile");
  if (!container_is_valid(container))
    return s3l_error_say(b->error, S3LECT_EOPTION, "container", container,
                         "not a container's name, which has 3 to 63 lower-case letters, digits "
                         "and '-'");
  while (s3l_span_take(&path, '/'))
    ;
  while (path.n > 0 && path.p[path.n - 1] == '/')
    path.n--;
  s3l_buf_init(&out, b->c->path, sizeof(b->c->path));
  if (path.n > 0)
    s3l_buf_put(&out, path);
  else if (is_bare_host(&b->url))
    s3l_buf_puts(&out, b->c->account);
  if (out.len > 0)
    s3l_buf_putc(&out, '/');
  s3l_buf_puts(&out, container);
  b->c->remote.bucket = b->c->path;
  return s3l_buf_cstr(&out) != NULL ? 0 : refuse(b, "endpoint", "its path is too long");
}

static int build_host(build_t* b) {
  char text[S3L_REMOTE_HOST_MAX + 32];
  const char* reason;
  s3l_source_t source = {"endpoint", s3l_set_or_null(b->o->endpoint)};
  s3l_span_t endpoint = s3l_span_cstr(source.value);
  s3l_buf_t made;
  if (endpoint.n == 0 && b->string.endpoint.n > 0) {
    endpoint = b->string.endpoint;
    source.name = b->string.name;
  } else if (endpoint.n == 0) {
    s3l_buf_init(&made, text, sizeof(text));
    s3l_buf_put(&made, b->string.protocol.n > 0 ? b->string.protocol : S3L_SPAN("https"));
    s3l_buf_puts(&made, "://");
    s3l_buf_puts(&made, b->c->account);
    s3l_buf_puts(&made, ".blob.");
    s3l_buf_put(&made, b->string.suffix.n > 0 ? b->string.suffix : S3L_SPAN(SUFFIX));
    endpoint = s3l_buf_span(&made);
    source.name = b->string.name != NULL ? b->string.name : "account";
  }
  if (!s3l_url_parse(endpoint, &b->url, &reason))
    return s3l_error_say(b->error, S3LECT_EOPTION, source.name, s3l_remote_shown(source.value),
                         "%s", reason);
  if (b->url.query.p != NULL)
    return refuse(b, source.name, "must not have a query; a signature is an option of its own");
  const s3l_url_t* url = &b->url;
  if (!s3l_remote_set_host(&b->c->remote, url->host, url->port, url->tls))
    return refuse(b, source.name, "its host is too long");
  int err = build_path(b);
  const s3l_remote_options_t options = {S3L_REMOTE_OPTIONS_OF(b->o),
                                        .ca_file = {"ca_file", s3l_set_or_null(b->o->ca_file)}};
  return err != 0 ? err : s3l_remote_configure(&options, &b->c->remote, b->error);
}

/* ---- Credentials ---- */

static int build_key(build_t* b, s3l_span_t key, const char* name) {
  uint8_t secret[SECRET_BYTES_MAX];
  ssize_t n = s3l_base64_decode(key, secret, sizeof(secret));
  s3l_wipe(secret, sizeof(secret));
  if (n <= 0 || !s3l_span_copy(key, b->c->key, sizeof(b->c->key)))
    return refuse(b, name, "not an account key, which is base64");
  b->c->remote.access_key = b->c->account;
  b->c->remote.secret = b->c->key;
  const char* account = b->o->account;
  bool from_environment = name != NULL && strcmp(name, "AZURE_STORAGE_KEY") == 0;
  s3l_source_t owner = s3l_source_choose("account", NULL, "AZURE_STORAGE_ACCOUNT", NULL);
  if (from_environment && owner.value != NULL && s3l_set_or_null(account) != NULL &&
      strcmp(owner.value, account) != 0)
    return refuse(b, name, "belongs to AZURE_STORAGE_ACCOUNT, which is not the option's account");
  return 0;
}

static int build_sas(build_t* b, s3l_span_t sas, const char* name) {
  (void)s3l_span_take(&sas, '?');
  if (!s3l_azure_is_sas(sas) || !s3l_azure_sas_fits(sas) ||
      !s3l_span_copy(sas, b->c->sas, sizeof(b->c->sas)))
    return refuse(b, name, "not a shared access signature, which has a part sig=...");
  b->c->remote.token = b->c->sas;
  return 0;
}

static int build_credentials(build_t* b) {
  s3l_span_t key = s3l_span_cstr(b->key.value), sas = s3l_span_cstr(b->sas.value);
  const char* key_name = b->key.name;
  const char* sas_name = b->sas.name;
  if (b->string.name != NULL) {
    key = b->string.key;
    sas = b->string.sas;
    key_name = sas_name = b->string.name;
    if (key.n == 0 && sas.n == 0)
      return refuse(b, b->string.name, "has neither AccountKey nor SharedAccessSignature");
  }
  if (key.n > 0)
    return build_key(b, key, key_name);
  if (!s3l_service_allows(&b->url))
    return refuse(b, "endpoint",
                  "must begin with https://, since the requests carry a secret (plain http is for "
                  "account keys, and for this machine)");
  b->c->remote.chain.ca_file = b->c->remote.http.ca_file;
  return sas.n > 0 ? build_sas(b, sas, sas_name) : 0;
}

int s3l_azure_configure(const s3lect_store_azure_options_t* options, s3l_azure_config_t* config,
                        s3lect_error_t* error) {
  s3lect_store_azure_options_t known;
  build_t b = {.o = &known, .c = config, .error = error};
  memset(config, 0, sizeof(*config));
  int err = s3l_versioned_copy(error, "s3lect_store_azure_options", options, &known, sizeof(known));
  if (err == 0)
    err = find_sources(&b);
  if (err == 0)
    err = build_account(&b);
  if (err == 0)
    err = build_host(&b);
  return err == 0 ? build_credentials(&b) : err;
}

void s3lect_store_azure_options_init(s3lect_store_azure_options_t* options, size_t size) {
  const s3lect_store_azure_options_t defaults = {.size = size, S3L_REMOTE_DEFAULTS};
  memset(options, 0, size);
  memcpy(options, &defaults, size < sizeof(defaults) ? size : sizeof(defaults));
}

int s3lect_store_azure_options_check(const s3lect_store_azure_options_t* options,
                                     s3lect_error_t* error) {
  s3l_azure_config_t config;
  s3l_error_clear(error);
  int err = s3l_azure_configure(options, &config, error);
  if (err == 0)
    err = s3l_remote_check_tls(&config.remote);
  s3l_wipe(&config, sizeof(config));
  return s3l_error_end(error, err);
}
