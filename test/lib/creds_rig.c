#include "lib/creds_rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/secret_heap.h"
#include "lib/test.h"
#include "lib/wait.h"

int64_t s3l_creds_rig_wall;

static int64_t rig_wall(void) {
  return s3l_creds_rig_wall;
}

const char* s3l_creds_rig_reply(const char* status, const char* headers, const char* body) {
  static char replies[16][4096];
  static unsigned next;
  char* reply = replies[next++ % 16];
  int n = snprintf(reply, sizeof(replies[0]), "HTTP/1.1 %s\r\n%sContent-Length: %zu\r\n\r\n%s",
                   status, headers, strlen(body), body);
  assert_true(n > 0 && (size_t)n < sizeof(replies[0]));
  return reply;
}

void s3l_creds_rig_clear_environment(void) {
  static const char* const names[] = {
#define XX(field, name) name,
      S3L_SETTINGS_AWS(XX) S3L_SETTINGS_AZURE(XX) S3L_SETTINGS_GOOGLE(XX)
#undef XX
  };
  for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
    unsetenv(names[i]);
  setenv("HOME", "/nonexistent", 1);
}

static void on_done(s3lect_credentials_req_t* req, int status, const s3lect_credentials_t* creds,
                    const char* why) {
  s3l_creds_rig_t* rig = req->data;
  assert_true(rig->asked);
  rig->asked = false;
  if (status == UV_ECANCELED) {
    assert_null(creds);
    rig->dropped++;
    return;
  }
  rig->done++;
  rig->status = status;
  rig->access_key[0] = rig->secret[0] = rig->token[0] = rig->why[0] = '\0';
  rig->expires_ms = 0;
  if (status == 0) {
    const char* token = creds->session_token;
    snprintf(rig->access_key, sizeof(rig->access_key), "%s", creds->access_key_id);
    snprintf(rig->secret, sizeof(rig->secret), "%s", creds->secret_access_key);
    snprintf(rig->token, sizeof(rig->token), "%s", token != NULL ? token : "");
    rig->expires_ms = creds->expires_ms;
  } else {
    assert_null(creds);
    assert_non_null(why);
    snprintf(rig->why, sizeof(rig->why), "%s", why);
  }
  if (rig->then != NULL)
    rig->then(rig);
}

void s3l_creds_rig_init(s3l_creds_rig_t* rig, const s3l_step_t* const* scripts, size_t n) {
  memset(rig, 0, sizeof(*rig));
  s3l_creds_rig_clear_environment();
  s3l_creds_rig_wall = S3L_CREDS_RIG_NOW;
  rig->kind = &s3l_chain_aws;
  assert_int_equal(uv_loop_init(&rig->loop), 0);
  rig->server.scripts = scripts;
  rig->server.scripts_len = n;
  rig->server.data = rig;
  rig->server.unref = true;
  if (n > 0) {
    s3l_script_server_start(&rig->server, &rig->loop);
    snprintf(rig->base, sizeof(rig->base), "http://127.0.0.1:%u", (unsigned)rig->server.port);
  }
  snprintf(rig->dir, sizeof(rig->dir), "/tmp/s3lect-creds-XXXXXX");
  assert_non_null(mkdtemp(rig->dir));
}

const char* s3l_creds_rig_file(s3l_creds_rig_t* rig, const char* name, const char* text) {
  static char path[128];
  snprintf(path, sizeof(path), "%s/%s", rig->dir, name);
  FILE* f = fopen(path, "w");
  assert_non_null(f);
  assert_true(fputs(text, f) >= 0);
  assert_int_equal(fclose(f), 0);
  return path;
}

void s3l_creds_rig_set_file(s3l_creds_rig_t* rig, const char* variable, const char* name,
                            const char* text) {
  setenv(variable, s3l_creds_rig_file(rig, name, text), 1);
}

void s3l_creds_rig_configure(s3l_creds_rig_t* rig, const char* profile, uint32_t sources) {
  s3lect_credentials_chain_options_t o;
  s3lect_credentials_chain_options_init(&o, sizeof(o));
  o.profile = profile;
  o.sources = sources;
  assert_int_equal(rig->kind->configure(&rig->settings, &o, NULL), 0);
  rig->settings.wall_ms = rig_wall;
  rig->settings.retry_delay_ms = 1;
  rig->settings.container_host = rig->base;
  rig->settings.service_timeout_ms = 30000; /* far beyond what it takes */
  rig->settings.remote_timeout_ms = 30000;
  rig->settings.process_timeout_ms = 30000;
}

void s3l_creds_rig_open(s3l_creds_rig_t* rig) {
  assert_int_equal(s3l_chain_provider(&rig->loop, rig->kind, &rig->settings, &rig->chain), 0);
}

void s3l_creds_rig_start(s3l_creds_rig_t* rig, const char* profile, uint32_t sources) {
  s3l_creds_rig_configure(rig, profile, sources);
  s3l_creds_rig_open(rig);
}

int s3l_creds_rig_try(s3l_creds_rig_t* rig) {
  unsigned before = rig->done;
  rig->req = (s3lect_credentials_req_t){.data = rig, .cb = on_done, .provider = rig->chain};
  rig->asked = true;
  int err = rig->chain->ops->get(rig->chain, &rig->req);
  assert_int_equal(rig->done, before); /* never inside */
  rig->asked = err == 0;
  return err;
}

void s3l_creds_rig_ask(s3l_creds_rig_t* rig) {
  assert_int_equal(s3l_creds_rig_try(rig), 0);
}

void s3l_creds_rig_wait(s3l_creds_rig_t* rig) {
  s3l_wait_count(&rig->loop, &rig->done, rig->done + 1, "an answer of the chain");
}

void s3l_creds_rig_gets(s3l_creds_rig_t* rig, const char* access_key) {
  s3l_creds_rig_ask(rig);
  s3l_creds_rig_wait(rig);
  if (rig->status != 0)
    fail_msg("no credentials: %s", rig->why);
  assert_string_equal(rig->access_key, access_key);
}

/* "..." at either end stands for any text. */
static bool is_like(const char* text, const char* want) {
  size_t n = strlen(want);
  bool any_end = n >= 3 && strcmp(want + n - 3, "...") == 0;
  bool any_start = strncmp(want, "...", 3) == 0;
  if (any_end)
    n -= 3;
  if (any_start) {
    want += 3;
    n -= 3;
  }
  for (const char* at = text;; at++) {
    if (strncmp(at, want, n) == 0 && (any_end || at[n] == '\0'))
      return true;
    if (!any_start || *at == '\0')
      return false;
  }
}

void s3l_creds_rig_fails(s3l_creds_rig_t* rig, const char* why) {
  s3l_creds_rig_ask(rig);
  s3l_creds_rig_wait(rig);
  assert_int_equal(rig->status, S3LECT_ECREDENTIALS);
  if (!is_like(rig->why, why))
    fail_msg("got \"%s\", want \"%s\"", rig->why, why);
}

void s3l_creds_rig_got(s3l_creds_rig_t* rig, const char* access_key) {
  s3l_creds_rig_gets(rig, access_key);
  s3l_creds_rig_end(rig);
}

void s3l_creds_rig_failed(s3l_creds_rig_t* rig, const char* why) {
  s3l_creds_rig_fails(rig, why);
  s3l_creds_rig_end(rig);
}

static void on_closed(s3lect_credentials_provider_t* chain) {
  ++*(unsigned*)chain->data;
}

static void remove_folder(const char* dir) {
  uv_fs_t scan, one;
  uv_dirent_t entry;
  assert_true(uv_fs_scandir(NULL, &scan, dir, 0, NULL) >= 0);
  while (uv_fs_scandir_next(&scan, &entry) == 0) {
    char path[512];
    snprintf(path, sizeof(path), "%s/%s", dir, entry.name);
    uv_fs_unlink(NULL, &one, path, NULL);
    uv_fs_req_cleanup(&one);
  }
  uv_fs_req_cleanup(&scan);
  assert_int_equal(rmdir(dir), 0);
}

void s3l_creds_rig_end(s3l_creds_rig_t* rig) {
  unsigned done = rig->done, dropped = rig->dropped + rig->asked;
  if (rig->chain != NULL) {
    rig->chain->data = &rig->closed;
    rig->chain->ops->close(rig->chain, on_closed);
    s3l_wait_count(&rig->loop, &rig->closed, 1, "the chain to be closed");
    assert_int_equal(rig->done, done);
    assert_int_equal(rig->dropped, dropped);
  }
  assert_true(rig->server.failures == 0 || rig->cut_short);
  s3l_script_server_close(&rig->server);
  s3l_wait_loop_end(&rig->loop);
  remove_folder(rig->dir);
}

void s3l_creds_rig_leaves_nothing(s3l_creds_rig_t* rig) {
  char access_key[sizeof(rig->access_key)], token[sizeof(rig->token)];
  assert_int_equal(s3l_secret_heap_found(), 0);
  memcpy(access_key, rig->access_key, sizeof(access_key));
  memcpy(token, rig->token, sizeof(token));
  s3l_creds_rig_gets(rig, access_key);
  assert_string_equal(rig->token, token);
  s3l_creds_rig_ask(rig);
  uv_run(&rig->loop, UV_RUN_NOWAIT);
  rig->cut_short = true;
  s3l_creds_rig_end(rig);
  s3l_secret_heap_remove();
}

void s3l_creds_rig_hides(s3l_creds_rig_t* rig, const char* const* secrets) {
  s3l_creds_rig_ask(rig);
  s3l_creds_rig_wait(rig);
  assert_int_equal(rig->status, S3LECT_ECREDENTIALS);
  for (; *secrets != NULL; secrets++) {
    if (strstr(rig->why, *secrets) != NULL)
      fail_msg("\"%s\" shows %s", rig->why, *secrets);
  }
  s3l_creds_rig_end(rig);
}

/* ---- A store that uses credentials ---- */

s3lect_store_s3_options_t s3l_creds_use_options(uint16_t port,
                                                s3lect_credentials_provider_t* provider) {
  static char url[64];
  s3lect_store_s3_options_t o = s3_rig_options(url, sizeof(url), port);
  o.access_key_id = o.secret_access_key = NULL;
  o.credentials = provider;
  return o;
}

void s3l_creds_use_open(s3l_creds_use_t* use, uv_loop_t* loop, const s3lect_store_s3_options_t* o) {
  memset(use, 0, sizeof(*use));
  assert_int_equal(s3lect_store_s3_init(loop, &use->store, o, NULL), 0);
  use->store.data = use;
  use->suite = (s3l_store_suite_t){.loop = loop, .store = &use->store, .timeout_ms = 30000};
  s3l_creds_use_start(use);
}

void s3l_creds_use_start(s3l_creds_use_t* use) {
  s3l_suite_prepare(&use->suite, &use->r, "k");
  assert_int_equal(s3l_suite_start(&use->r, s3lect_store_get), 0);
}

void s3l_creds_use_ends(s3l_creds_use_t* use, int status, const char* message) {
  s3l_wait_count(use->suite.loop, &use->r.done, 1, "the end of a read");
  assert_int_equal(use->r.result.status, status);
  assert_string_equal(use->r.result.message != NULL ? use->r.result.message : "", message);
}

static void on_store_closed(s3lect_store_t* store) {
  ++((s3l_creds_use_t*)store->data)->closed;
}

void s3l_creds_use_close(s3l_creds_use_t* use) {
  s3lect_store_close(&use->store, on_store_closed);
  s3l_wait_count(use->suite.loop, &use->closed, 1, "the store to be closed");
}
