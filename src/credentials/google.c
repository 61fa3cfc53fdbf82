#include "credentials/google.h"

#include <string.h>

#include "credentials/google_file.h"
#include "credentials/oauth.h"
#include "credentials/reply.h"
#include "util/mem.h"
#include "util/skew.h"

#define PATH_MAX_SIZE 4096
#define IMPERSON_MAX  4096 /* the body of an impersonation */
#define METADATA_PATH "/computeMetadata/v1/instance/service-accounts/default/token"
#define GCLOUD_FILE   "/application_default_credentials.json"
#define TOKEN_TYPE    "urn:ietf:params:oauth:token-type:access_token"
#define GRANT(name)   S3L_SPAN("urn:ietf:params:oauth:grant-type:" name)

typedef struct google_s {
  s3l_chain_t chain; /* first */
  s3l_oauth_t oauth;
  bool may_lack; /* the file under way: then the next step is tried */
  char path[PATH_MAX_SIZE];
  s3l_google_file_t file;        /* wiped with the question */
  s3l_span_t subject;            /* the subject token */
  s3lect_credentials_t* account; /* its token, while that asks for the impersonated one's */
} google_t;

static google_t* google_of(s3l_chain_t* c) {
  return S3L_CONTAINER_OF(c, google_t, chain);
}

/* The owner of the service's data. */
static google_t* owner_of(const s3l_service_t* s) {
  return S3L_CONTAINER_OF(s->data, google_t, oauth);
}

/* Calls a URL of the file. */
static void call(google_t* g, const char* url, const char* name, const s3l_service_call_t* what) {
  const s3l_service_origin_t origin = {.url = s3l_span_cstr(url),
                                       .name = name,
                                       .query = true,
                                       .proxies = &g->chain.settings.proxies};
  if (s3l_service_set_origin(&g->chain.service, &origin))
    s3l_service_call(&g->chain.service, what, g->chain.settings.remote_timeout_ms,
                     S3L_OAUTH_ATTEMPTS);
}

/* ---- The account's token ---- */

static void add_user(google_t* g) {
  const s3l_google_file_t* f = &g->file;
  g->chain.service.secret = s3l_span_cstr(f->refresh_token);
  s3l_oauth_add(&g->oauth, "grant_type", S3L_SPAN("refresh_token"));
  s3l_oauth_add(&g->oauth, "client_id", s3l_span_cstr(f->client_id));
  s3l_oauth_add(&g->oauth, "client_secret", s3l_span_cstr(f->client_secret));
  s3l_oauth_add(&g->oauth, "refresh_token", s3l_span_cstr(f->refresh_token));
}

static void add_external(google_t* g) {
  const s3l_google_file_t* f = &g->file;
  g->chain.service.secret = g->subject;
  s3l_oauth_add(&g->oauth, "grant_type", GRANT("token-exchange"));
  s3l_oauth_add(&g->oauth, "requested_token_type", S3L_SPAN(TOKEN_TYPE));
  s3l_oauth_add(&g->oauth, "scope", s3l_span_cstr(s3l_google_scope(f)));
  s3l_oauth_add(&g->oauth, "audience", s3l_span_cstr(f->audience));
  s3l_oauth_add(&g->oauth, "subject_token_type", s3l_span_cstr(f->subject_type));
  s3l_oauth_add(&g->oauth, "subject_token", g->subject);
}

/* False, with a line in `why`, if the key is wrong. */
static bool add_assertion(google_t* g) {
  s3l_chain_t* c = &g->chain;
  s3l_span_t jwt;
  if (s3l_google_assertion(&g->file, s3l_service_now_ms(&c->service), &jwt, &c->why) != 0)
    return false;
  c->service.secret = jwt;
  s3l_oauth_begin(&g->oauth, NULL, S3L_SPAN(""));
  s3l_oauth_add(&g->oauth, "grant_type", GRANT("jwt-bearer"));
  s3l_oauth_add(&g->oauth, "assertion", jwt);
  return true;
}

/* A JWT that was refused while the clocks differ is made anew once, with Google's time. */
static bool is_transient(s3l_service_t* s, const s3l_http_reply_t* reply) {
  google_t* g = owner_of(s);
  return g->file.type == S3L_GOOGLE_SERVICE_ACCOUNT &&
         s3l_service_reclock(s, reply, S3L_SKEW_PERHAPS_MS) && add_assertion(g);
}

static void ask_token(google_t* g) {
  static const s3l_service_call_t what = {
      .compose = s3l_oauth_compose, .parse = s3l_reply_token_json, .is_transient = is_transient};
  s3l_oauth_begin(&g->oauth, NULL, S3L_SPAN(""));
  if (g->file.type == S3L_GOOGLE_USER)
    add_user(g);
  else if (g->file.type == S3L_GOOGLE_EXTERNAL)
    add_external(g);
  else if (!add_assertion(g)) {
    s3l_chain_fail(&g->chain, "");
    return;
  }
  call(g, g->file.token_url, "the URL for tokens", &what);
}

/* ---- The subject token ---- */

static void take_subject(google_t* g, s3l_span_t text) {
  if (s3l_google_subject(&g->file, text, &g->subject, &g->chain.why) == 0)
    ask_token(g);
  else
    s3l_service_end(&g->chain.service, S3LECT_ECREDENTIALS, NULL);
}

static void on_subject_file(s3l_service_t* s) {
  take_subject(owner_of(s), s3l_file_line(&s->token_file));
}

static void on_subject_reply(s3l_service_t* s, const s3l_http_reply_t* reply) {
  if (s3l_service_is_good(reply))
    take_subject(owner_of(s), reply->body);
  else
    s3l_service_fail_reply(s, reply, NULL);
}

static bool compose_subject(s3l_service_t* s, s3l_buf_t* b) {
  s3l_service_put_head(s, b, "GET", "", "");
  s3l_buf_puts(b, owner_of(s)->file.headers);
  s3l_buf_puts(b, "\r\n");
  return true;
}

static void ask_subject(google_t* g) {
  static const s3l_service_call_t what = {.compose = compose_subject, .done = on_subject_reply};
  if (g->file.url[0] != '\0')
    call(g, g->file.url, "the url of credential_source", &what);
  else
    s3l_service_read_token(&g->chain.service, g->file.path, S3L_SERVICE_TOKEN_MAX, "the token file",
                           on_subject_file);
}

/* ---- Impersonation ---- */

static bool compose_impersonation(s3l_service_t* s, s3l_buf_t* b) {
  const google_t* g = owner_of(s);
  char text[IMPERSON_MAX];
  s3l_buf_t body;
  s3l_buf_init(&body, text, sizeof text);
  s3l_google_put_impersonation(&g->file, &body);
  s3l_service_put_head(s, b, "POST", "", "");
  s3l_buf_printf(b,
                 "authorization: Bearer %s\r\naccept: application/json\r\n"
                 "content-type: application/json\r\ncontent-length: %zu\r\n\r\n",
                 g->account->session_token, body.len);
  s3l_buf_put(b, s3l_buf_span(&body));
  return !body.overflow;
}

static void on_ended(s3l_chain_t* c, int status, s3lect_credentials_t* creds) {
  static const s3l_service_call_t what = {.compose = compose_impersonation,
                                          .parse = s3l_reply_impersonated_json};
  google_t* g = google_of(c);
  const char* url = g->file.impersonation_url; /* NULL: no file was read */
  if (status != 0 || c->cancelled || g->account != NULL || url == NULL || url[0] == '\0') {
    s3l_chain_end(c, status, creds);
    return;
  }
  g->account = creds;
  c->service.secret = s3l_span_cstr(creds->session_token);
  call(g, url, "service_account_impersonation_url", &what);
}

/* ---- Files ---- */

static void on_file(s3l_file_t* file, int status) {
  google_t* g = file->data;
  s3l_chain_t* c = &g->chain;
  s3l_reply_put_shown(&c->why, s3l_span_cstr(g->path), S3L_PATH_SHOWN_MAX);
  s3l_buf_puts(&c->why, ": ");
  if (status == UV_ENOENT && g->may_lack)
    s3l_chain_skip(c, s3lect_strerror(status));
  else if (status == UV_ENOMEM)
    s3l_chain_end(c, status, NULL);
  else if (status != 0)
    s3l_chain_fail(c, status == S3LECT_ETOOBIG ? "is too large" : s3lect_strerror(status));
  else if (s3l_google_file_parse(&g->file, s3l_file_text(file), &c->why) != 0)
    s3l_chain_fail(c, "");
  else if (g->file.type == S3L_GOOGLE_EXTERNAL)
    ask_subject(g);
  else
    ask_token(g);
}

static void read_file(google_t* g, const char* folder, const char* name, bool may_lack) {
  s3l_chain_t* c = &g->chain;
  s3l_file_t* file = &c->files[0];
  s3l_buf_t path;
  s3l_buf_init(&path, g->path, sizeof g->path);
  s3l_buf_puts(&path, folder);
  s3l_buf_puts(&path, name);
  if (s3l_buf_cstr(&path) == NULL) {
    s3l_chain_fail(c, "is too long a path");
    return;
  }
  g->may_lack = may_lack;
  file->data = g;
  int err = s3l_file_start(file, c->loop, g->path, S3L_GOOGLE_FILE_MAX, on_file);
  if (err != 0)
    on_file(file, err);
}

static void try_variable(s3l_chain_t* c) {
  if (c->settings.google.file == NULL)
    s3l_chain_skip(c, "not set");
  else
    read_file(google_of(c), c->settings.google.file, "", false);
}

static void try_gcloud(s3l_chain_t* c) {
  const s3l_settings_t* s = &c->settings;
  if (s->google.config != NULL)
    read_file(google_of(c), s->google.config, GCLOUD_FILE, true);
  else if (s->home != NULL)
    read_file(google_of(c), s->home, "/.config/gcloud" GCLOUD_FILE, true);
  else
    s3l_chain_skip(c, "there is no home folder");
}

/* ---- The metadata server ---- */

static int parse_metadata(const s3l_http_reply_t* reply, int64_t now_ms, s3lect_credentials_t** out,
                          s3l_buf_t* why) {
  if (s3l_span_eq(s3l_http_reply_header(reply, "metadata-flavor"), S3L_SPAN("Google")))
    return s3l_reply_token_json(reply, now_ms, out, why);
  s3l_buf_puts(why, "the answer lacks Metadata-Flavor: Google");
  return S3LECT_ECREDENTIALS;
}

static void try_metadata(s3l_chain_t* c) {
  static const s3l_service_call_t what = {.compose = s3l_oauth_compose,
                                          .parse = parse_metadata,
                                          .absent = " (not a machine of Google Cloud)"};
  const s3l_settings_t* s = &c->settings;
  google_t* g = google_of(c);
  char text[S3L_SERVICE_HOST_MAX + sizeof METADATA_PATH];
  s3l_buf_t url;
  if (s3l_settings_is_true(s->google.no_metadata)) {
    s3l_chain_skip(c, "NO_GCE_CHECK is true");
    return;
  }
  s3l_buf_init(&url, text, sizeof text);
  s3l_buf_printf(&url, "http://%s" METADATA_PATH,
                 s->google.metadata_host != NULL ? s->google.metadata_host : s->metadata_host);
  const s3l_service_origin_t origin = {
      .url = s3l_buf_span(&url), .name = "GCE_METADATA_HOST", .google_metadata = true};
  s3l_oauth_begin(&g->oauth, "metadata-flavor", S3L_SPAN("Google"));
  s3l_oauth_add(&g->oauth, "scopes", S3L_SPAN(S3L_GOOGLE_SCOPE));
  if (url.overflow)
    s3l_chain_fail(c, "GCE_METADATA_HOST is too long");
  else if (s3l_service_set_origin(&c->service, &origin))
    s3l_service_call(&c->service, &what, s->service_timeout_ms, S3L_OAUTH_ATTEMPTS);
}

/* ---- The order ---- */

static const s3l_chain_step_t steps[] = {
    {"GOOGLE_APPLICATION_CREDENTIALS: ", try_variable},
    {"gcloud: ", try_gcloud},
    {"metadata server: ", try_metadata},
};

static int configure(s3l_settings_t* s, const s3lect_credentials_chain_options_t* options,
                     s3lect_error_t* error) {
  static const char* const names[] = {
#define XX(field, name) name,
      S3L_SETTINGS_GOOGLE(XX)
#undef XX
  };
  return s3l_settings_init(s, names, sizeof(names) / sizeof(names[0]), options, error);
}

static void begin(s3l_chain_t* c) {
  c->service.data = &google_of(c)->oauth;
}

static void clear(s3l_chain_t* c) {
  google_t* g = google_of(c);
  s3l_wipe(&g->file, sizeof g->file);
  s3l_creds_free(g->account);
  g->account = NULL;
}

const s3l_chain_kind_t s3l_chain_google = {.steps = steps,
                                           .steps_len = sizeof(steps) / sizeof(steps[0]),
                                           .size = sizeof(google_t),
                                           .configure = configure,
                                           .begin = begin,
                                           .ended = on_ended,
                                           .clear = clear};
