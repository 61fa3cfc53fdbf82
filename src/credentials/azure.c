#include "credentials/azure.h"

#include <string.h>

#include "credentials/oauth.h"
#include "credentials/reply.h"
#include "util/error.h"

#define AUTHORITY     "https://login.microsoftonline.com"
#define IMDS          "http://169.254.169.254"
#define IMDS_PATH     "/metadata/identity/oauth2/token"
#define IMDS_ATTEMPTS 6
#define RESOURCE      "https://storage.azure.com"
#define URL_MAX       512

typedef struct azure_s {
  s3l_chain_t chain; /* first */
  s3l_oauth_t oauth;
} azure_t;

/* The request of the question under way, which the service has now. */
static s3l_oauth_t* begin(s3l_chain_t* c, const char* header, s3l_span_t header_value) {
  s3l_oauth_t* o = &S3L_CONTAINER_OF(c, azure_t, chain)->oauth;
  s3l_oauth_begin(o, header, header_value);
  c->service.data = o;
  return o;
}

static s3l_span_t without_slashes(const char* url) {
  s3l_span_t s = s3l_span_cstr(url);
  while (s3l_span_ends_with(s, S3L_SPAN("/")))
    s.n--;
  return s;
}

/* ---- Entra ID ---- */

/* The URL of the tenant's token service. SDKs take the authority with and without a scheme. */
static void put_authority(const s3l_settings_t* s, s3l_buf_t* b) {
  s3l_span_t host = without_slashes(s->azure.authority_host);
  if (host.n > 0 && strstr(host.p, "://") == NULL)
    s3l_buf_puts(b, "https://");
  s3l_buf_put(b, host.n > 0 ? host : S3L_SPAN(AUTHORITY));
  s3l_buf_putc(b, '/');
  s3l_url_encode(b, s3l_span_cstr(s->azure.tenant_id), false);
  s3l_buf_puts(b, "/oauth2/v2.0/token");
}

/* Points the service at the tenant's token service, and begins the request. NULL: the question has
 * ended. */
static s3l_oauth_t* begin_entra(s3l_chain_t* c, const char* variable) {
  const s3l_settings_t* s = &c->settings;
  char url[URL_MAX];
  s3l_buf_t b;
  if (s->azure.tenant_id == NULL || s->azure.client_id == NULL) {
    s3l_buf_printf(&c->why, "%s is set, but %s is not", variable,
                   s->azure.tenant_id == NULL ? "AZURE_TENANT_ID" : "AZURE_CLIENT_ID");
    s3l_chain_fail(c, "");
    return NULL;
  }
  s3l_buf_init(&b, url, sizeof url);
  put_authority(s, &b);
  if (b.overflow) {
    s3l_chain_fail(c, "AZURE_AUTHORITY_HOST or AZURE_TENANT_ID is too long");
    return NULL;
  }
  const s3l_service_origin_t origin = {
      .url = s3l_buf_span(&b), .name = "AZURE_AUTHORITY_HOST", .proxies = &s->proxies};
  s3l_oauth_t* o = begin(c, NULL, S3L_SPAN(""));
  s3l_oauth_add(o, "grant_type", S3L_SPAN("client_credentials"));
  s3l_oauth_add(o, "scope", S3L_SPAN(RESOURCE "/.default"));
  s3l_oauth_add(o, "client_id", s3l_span_cstr(s->azure.client_id));
  return s3l_service_set_origin(&c->service, &origin) ? o : NULL;
}

static void call_entra(s3l_service_t* s) {
  s3l_service_call(s, &s3l_oauth_call, s->settings->remote_timeout_ms, S3L_OAUTH_ATTEMPTS);
}

/* ---- Environment ---- */

static void try_environment(s3l_chain_t* c) {
  const s3l_settings_t* s = &c->settings;
  if (s->azure.client_secret == NULL && s->azure.client_certificate != NULL) {
    s3l_chain_fail(c, "AZURE_CLIENT_CERTIFICATE_PATH is set, but client certificates are not "
                      "supported; use AZURE_CLIENT_SECRET or a federated token");
    return;
  }
  if (s->azure.client_secret == NULL) {
    s3l_chain_skip(c, "AZURE_CLIENT_SECRET is not set");
    return;
  }
  s3l_oauth_t* o = begin_entra(c, "AZURE_CLIENT_SECRET");
  if (o == NULL)
    return;
  c->service.secret = s3l_span_cstr(s->azure.client_secret);
  s3l_oauth_add(o, "client_secret", c->service.secret);
  call_entra(&c->service);
}

/* ---- Workload identity ---- */

static void on_token_file(s3l_service_t* s) {
  s->secret = s3l_file_line(&s->token_file);
  s3l_oauth_add(s->data, "client_assertion_type",
                S3L_SPAN("urn:ietf:params:oauth:client-assertion-type:jwt-bearer"));
  s3l_oauth_add(s->data, "client_assertion", s->secret);
  call_entra(s);
}

static void try_workload_identity(s3l_chain_t* c) {
  const char* path = c->settings.azure.token_file;
  if (path == NULL)
    s3l_chain_skip(c, "AZURE_FEDERATED_TOKEN_FILE is not set");
  else if (begin_entra(c, "AZURE_FEDERATED_TOKEN_FILE") != NULL)
    s3l_service_read_token(&c->service, path, S3L_SERVICE_TOKEN_MAX, "AZURE_FEDERATED_TOKEN_FILE",
                           on_token_file);
}

/* ---- Managed identity ---- */

static void add_identity(s3l_chain_t* c, s3l_oauth_t* o, s3l_span_t version) {
  s3l_oauth_add(o, "api-version", version);
  s3l_oauth_add(o, "resource", S3L_SPAN(RESOURCE));
  s3l_oauth_add(o, "client_id", s3l_span_cstr(c->settings.azure.client_id));
}

/* The services of App Service, Functions and Container Apps, which are on loopback or link-local.
 */
static void ask_app_service(s3l_chain_t* c) {
  const s3l_settings_t* s = &c->settings;
  s3l_span_t header = s3l_span_cstr(s->azure.identity_header);
  const s3l_service_origin_t origin = {.url = s3l_span_cstr(s->azure.identity_endpoint),
                                       .name = "IDENTITY_ENDPOINT",
                                       .query = true,
                                       .link_local = true};
  if (header.n == 0)
    s3l_chain_fail(c, "IDENTITY_ENDPOINT is set, but IDENTITY_HEADER is not (Azure Arc is not "
                      "supported)");
  else if (!s3l_span_is_visible(header))
    s3l_chain_fail(c, "IDENTITY_HEADER holds a blank, a line end or another character that is no "
                      "part of it");
  else if (s3l_service_set_origin(&c->service, &origin)) {
    add_identity(c, begin(c, "x-identity-header", header), S3L_SPAN("2019-08-01"));
    c->service.secret = header;
    s3l_service_call(&c->service, &s3l_oauth_call, s->remote_timeout_ms, S3L_OAUTH_ATTEMPTS);
  }
}

/* 404 and 410 come while IMDS is updated. */
static bool is_updating(s3l_service_t* s, const s3l_http_reply_t* reply) {
  (void)s;
  return reply->http_status == 404 || reply->http_status == 410;
}

static void ask_imds(s3l_chain_t* c) {
  static const s3l_service_call_t call = {
      .compose = s3l_oauth_compose,
      .parse = s3l_reply_token_json,
      .is_transient = is_updating,
      .absent = " (not a machine of Azure, or one that blocks its metadata service)"};
  s3l_span_t host = without_slashes(c->settings.azure.imds_host);
  char url[URL_MAX];
  s3l_buf_t b;
  s3l_buf_init(&b, url, sizeof url);
  s3l_buf_put(&b, host.n > 0 ? host : S3L_SPAN(IMDS));
  s3l_buf_puts(&b, IMDS_PATH);
  const s3l_service_origin_t origin = {.url = s3l_buf_span(&b),
                                       .name = "AZURE_POD_IDENTITY_AUTHORITY_HOST"};
  if (b.overflow)
    s3l_chain_fail(c, "AZURE_POD_IDENTITY_AUTHORITY_HOST is too long");
  else if (s3l_service_set_origin(&c->service, &origin)) {
    add_identity(c, begin(c, "metadata", S3L_SPAN("true")), S3L_SPAN("2018-02-01"));
    s3l_service_call(&c->service, &call, c->settings.remote_timeout_ms, IMDS_ATTEMPTS);
  }
}

static void try_managed_identity(s3l_chain_t* c) {
  if (c->settings.azure.identity_endpoint != NULL)
    ask_app_service(c);
  else
    ask_imds(c);
}

/* ---- The order ---- */

static const s3l_chain_step_t steps[] = {
    {"environment: ", try_environment},
    {"workload identity: ", try_workload_identity},
    {"managed identity: ", try_managed_identity},
};

#define STEPS (sizeof(steps) / sizeof(steps[0]))

/* AZURE_TOKEN_CREDENTIALS selects all of them, or one. */
static bool is_wanted(const s3l_settings_t* s, unsigned step) {
  static const char* const names[STEPS] = {"EnvironmentCredential", "WorkloadIdentityCredential",
                                           "ManagedIdentityCredential"};
  s3l_span_t selected = s3l_span_cstr(s->azure.selected);
  return selected.n == 0 || s3l_span_ieq(selected, S3L_SPAN("prod")) ||
         s3l_span_ieq(selected, s3l_span_cstr(names[step]));
}

static int configure(s3l_settings_t* s, const s3lect_credentials_chain_options_t* options,
                     s3lect_error_t* error) {
  static const char* const variables[] = {
#define XX(field, name) name,
      S3L_SETTINGS_AZURE(XX)
#undef XX
  };
  int err =
      s3l_settings_init(s, variables, sizeof(variables) / sizeof(variables[0]), options, error);
  if (err != 0)
    return err;
  for (unsigned i = 0; i < STEPS; i++) {
    if (is_wanted(s, i))
      return 0;
  }
  err = s3l_error_say(error, S3LECT_EOPTION, "AZURE_TOKEN_CREDENTIALS", s->azure.selected,
                      "selects none of EnvironmentCredential, WorkloadIdentityCredential and "
                      "ManagedIdentityCredential; unset it, or set one of these, or prod");
  s3l_settings_free(s);
  return err;
}

const s3l_chain_kind_t s3l_chain_azure = {.steps = steps,
                                          .steps_len = STEPS,
                                          .size = sizeof(azure_t),
                                          .configure = configure,
                                          .is_wanted = is_wanted};
