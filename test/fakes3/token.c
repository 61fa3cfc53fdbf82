/* fakes3/token.c: the services that give bearer tokens: Entra's and Google's token endpoints, and
 * the metadata services of their machines. Tokens are kept as the sessions of directory buckets
 * are, and live as long.
 *
 * A client is known by its secret: a key of the server. What a client asserts of itself instead (a
 * federated token, a JSON Web Token) must be there, and is not checked. */
#include <string.h>

#include "fakes3/protocol.h"

#define ENTRA    "/oauth2/v2.0/token"
#define IMDS     "/metadata/identity/oauth2/token"
#define GOOGLE   "/token"
#define METADATA "/computeMetadata/v1/instance/service-accounts/default/token"

bool fakes3_token_route(fakes3_request_t* r) {
  bool azure = r->server->protocol == &fakes3_azure;
  s3l_span_t machine = azure ? S3L_SPAN(IMDS) : S3L_SPAN(METADATA);
  if (r->method == HTTP_POST)
    r->gives_token = azure ? s3l_span_ends_with(r->path, S3L_SPAN(ENTRA))
                           : s3l_span_eq(r->path, S3L_SPAN(GOOGLE));
  else if (r->method == HTTP_GET)
    r->gives_token = s3l_span_eq(r->path, machine);
  return r->gives_token;
}

static void put_json(fakes3_request_t* r, int status) {
  r->reply.status = status;
  r->reply.type = "application/json";
}

static void refuse(fakes3_request_t* r, int status, const char* error) {
  fakes3_printf(&r->reply.body, "{\"error\":\"%s\",\"error_description\":\"refused by fakes3\"}",
                error);
  put_json(r, status);
}

/* A field of the form, decoded; "" if there is none. */
static const char* take_field(const fakes3_request_t* r, const char* name, fakes3_bytes_t* out) {
  s3l_span_t form = fakes3_span(&r->body);
  out->n = 0;
  while (form.n > 0) {
    s3l_span_t value = fakes3_take(&form, '&');
    if (s3l_span_eq(fakes3_take(&value, '='), s3l_span_cstr(name)))
      (void)fakes3_put_decoded(out, value);
  }
  return fakes3_cstr(out);
}

/* NULL: the client is not one of the server's keys. */
static const fakes3_key_t* find_client(const fakes3_request_t* r) {
  fakes3_bytes_t id = {NULL, 0, 0}, secret = {NULL, 0, 0}, assertion = {NULL, 0, 0};
  const fakes3_key_t* found = NULL;
  (void)take_field(r, "client_id", &id);
  (void)take_field(r, "client_secret", &secret);
  (void)take_field(r, "client_assertion", &assertion);
  for (size_t i = 0; i < r->server->keys_n; i++) {
    const fakes3_key_t* key = &r->server->keys[i];
    bool known = secret.n > 0 ? strcmp(key->secret_key, secret.p) == 0 : assertion.n > 0;
    if (known && strcmp(key->access_key, id.p) == 0)
      found = key;
  }
  fakes3_bytes_free(&id);
  fakes3_bytes_free(&secret);
  fakes3_bytes_free(&assertion);
  return found;
}

static void give(fakes3_request_t* r, const char* holder) {
  const fakes3_session_t* session = fakes3_session_new(r, holder);
  fakes3_printf(&r->reply.body,
                "{\"token_type\":\"Bearer\",\"expires_in\":%llu,\"access_token\":\"%s\"}",
                (unsigned long long)(r->server->session_ms / 1000), session->token);
  put_json(r, 200);
}

void fakes3_op_token(fakes3_request_t* r) {
  bool azure = r->server->protocol == &fakes3_azure;
  fakes3_bytes_t grant = {NULL, 0, 0}, assertion = {NULL, 0, 0};
  const fakes3_key_t* client = find_client(r);
  const char* type = take_field(r, "grant_type", &grant);
  bool jwt = strcmp(type, "urn:ietf:params:oauth:grant-type:jwt-bearer") == 0;
  if (r->method == HTTP_GET) {
    s3l_span_t flavour = fakes3_header_value(r, azure ? "metadata" : "metadata-flavor");
    if (s3l_span_ieq(flavour, azure ? S3L_SPAN("true") : S3L_SPAN("Google")))
      give(r, "machine");
    else
      refuse(r, azure ? 400 : 403, "invalid_request");
  } else if (jwt && !azure) {
    if (take_field(r, "assertion", &assertion)[0] != '\0')
      give(r, "assertion");
    else
      refuse(r, 400, "invalid_grant");
  } else if (strcmp(type, azure ? "client_credentials" : "refresh_token") != 0) {
    refuse(r, 400, "unsupported_grant_type");
  } else if (client == NULL) {
    refuse(r, 401, "invalid_client");
  } else {
    give(r, client->access_key);
  }
  fakes3_bytes_free(&grant);
  fakes3_bytes_free(&assertion);
}
