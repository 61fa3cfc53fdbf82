/* fakes3/server.c: starts and stops the server and its listener. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fakes3/protocol.h"
#include "loop/clock.h"

uint64_t fakes3_lease_ns(void) {
  return (uint64_t)s3l_clock_lease_ns();
}

int64_t fakes3_wall_ms(const fakes3_t* s) {
  return s3l_clock_wall_ms() + s->clock_offset_ms;
}

void fakes3_set_clock_offset(fakes3_t* server, int64_t offset_ms) {
  server->clock_offset_ms = offset_ms;
}

/* ---- Listening ---- */

int fakes3_listen(fakes3_t* server, bool on) {
  if (on == (server->tcp.listener != NULL))
    return 0;
  if (on)
    return s3l_test_server_listen(&server->tcp, &server->address);
  s3l_test_server_unlisten(&server->tcp);
  return 0;
}

static int set_url(fakes3_t* s) {
  char ip[64];
  const char* scheme = s->tcp.tls != NULL ? "https" : "http";
  bool ip6 = s->address.ss_family == AF_INET6;
  int err = ip6 ? uv_ip6_name((const struct sockaddr_in6*)&s->address, ip, sizeof(ip))
                : uv_ip4_name((const struct sockaddr_in*)&s->address, ip, sizeof(ip));
  if (err != 0)
    return err;
  const char* host = strcmp(s->host, "localhost") == 0 ? s->host : ip;
  snprintf(s->url, sizeof(s->url), "%s://%s%s%s:%u", scheme, ip6 ? "[" : "", host, ip6 ? "]" : "",
           fakes3_port(s));
  return 0;
}

static int set_address(fakes3_t* s, uint16_t port) {
  const char* host = strcmp(s->host, "localhost") == 0 ? "127.0.0.1" : s->host;
  if (uv_ip4_addr(host, port, (struct sockaddr_in*)&s->address) == 0)
    return 0;
  return uv_ip6_addr(host, port, (struct sockaddr_in6*)&s->address);
}

const char* fakes3_url(const fakes3_t* server) {
  return server->url;
}

uint16_t fakes3_port(const fakes3_t* server) {
  return server->tcp.port;
}

/* ---- Starting ---- */

static void set_keys(fakes3_t* s, const fakes3_options_t* o) {
  const fakes3_key_t standard[FAKES3_KEYS_MAX] = {s->protocol->key};
  const fakes3_key_t* from = o->keys[0].access_key != NULL ? o->keys : standard;
  while (s->keys_n < FAKES3_KEYS_MAX && from[s->keys_n].access_key != NULL) {
    const fakes3_key_t* key = &from[s->keys_n];
    const char* secret = key->secret_key != NULL ? key->secret_key : "";
    s->keys[s->keys_n++] =
        (fakes3_key_t){fakes3_dup(s3l_span_cstr(key->access_key)),
                       fakes3_dup(s3l_span_cstr(secret)), fakes3_dup(s3l_span_cstr(key->token))};
  }
}

static void set_buckets(fakes3_t* s, const char* names) {
  s->any_bucket = names == NULL;
  s3l_span_t list = s3l_span_cstr(names);
  while (list.n > 0) {
    s3l_span_t name = fakes3_take(&list, ',');
    if (name.n > 0 && fakes3_bucket_find(s, name) == NULL)
      fakes3_bucket_add(s, name, true);
  }
}

static void free_server(fakes3_t* s) {
  fakes3_fault_clear(s, 0);
  fakes3_objects_clear(s, true);
  fakes3_log_free(s);
  fakes3_auth_free(s);
  if (s->log_file != NULL)
    fclose(s->log_file);
  for (size_t i = 0; i < s->keys_n; i++) {
    free((void*)(uintptr_t)s->keys[i].access_key);
    free((void*)(uintptr_t)s->keys[i].secret_key);
    free((void*)(uintptr_t)s->keys[i].token);
  }
  SSL_CTX_free(s->tcp.tls);
  free(s->host);
  free(s->region);
  free(s->domain);
  free(s);
}

/* Frees the server when the last handle is closed. */
static void end_if_closed(fakes3_t* s) {
  if (!s->stopping || s->handles > 0 || s->tcp.open > 0)
    return;
  fakes3_stop_cb cb = s->stop_cb;
  void* arg = s->stop_arg;
  free_server(s);
  if (cb != NULL)
    cb(arg);
}

static void on_quiet(s3l_test_server_t* tcp) {
  end_if_closed(tcp->data);
}

void fakes3_handle_closed(fakes3_t* s) {
  s->handles--;
  end_if_closed(s);
}

/* NULL: there is no such one. */
static const fakes3_protocol_t* find_protocol(const char* name) {
  static const fakes3_protocol_t* const all[] = {&fakes3_s3, &fakes3_azure, &fakes3_gcs};
  for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
    if (name == NULL || strcmp(name, all[i]->name) == 0)
      return all[i];
  }
  return NULL;
}

static fakes3_t* make_server(uv_loop_t* loop, const fakes3_options_t* o,
                             const fakes3_protocol_t* protocol) {
  fakes3_t* s = fakes3_alloc(sizeof(*s));
  s->loop = loop;
  s->protocol = protocol;
  s->host = fakes3_dup(s3l_span_cstr(o->host != NULL ? o->host : "127.0.0.1"));
  s->region = fakes3_dup(s3l_span_cstr(o->region));
  s->domain = fakes3_dup(s3l_span_cstr(o->domain));
  s->clock_offset_ms = o->clock_offset_ms;
  s->anonymous_reads = o->anonymous_reads;
  s->session_ms = o->session_ms > 0 ? o->session_ms : FAKES3_SESSION_MS;
  s->versioned = o->versioned;
  s->verify_every = o->verify_every > 0 ? o->verify_every : 1;
  s->on_change = o->on_change;
  s->on_change_arg = o->on_change_arg;
  s->log_max = o->log_entries > 0 ? o->log_entries : FAKES3_LOG_DEFAULT;
  fakes3_conn_serve(s);
  s->tcp.on_quiet = on_quiet;
  s3l_list_init(&s->requests);
  s3l_list_init(&s->buckets);
  s3l_list_init(&s->rules);
  s3l_list_init(&s->log);
  set_keys(s, o);
  set_buckets(s, o->buckets);
  return s;
}

/* The steps that may fail, before the server has any handle. */
static int prepare(fakes3_t* s, const fakes3_options_t* o, char* why, size_t cap) {
  if (set_address(s, o->port) != 0) {
    snprintf(why, cap, "\"%s\" is not an IP address", s->host);
    return UV_EINVAL;
  }
  if ((o->tls_cert != NULL) != (o->tls_key != NULL)) {
    snprintf(why, cap, "certificate and key go together");
    return UV_EINVAL;
  }
  if (o->tls_self != NULL)
    s->tcp.tls = fakes3_tls_self(o->tls_self, s->domain, s->host, why, cap);
  else if (o->tls_cert != NULL)
    s->tcp.tls = fakes3_tls_files(o->tls_cert, o->tls_key, why, cap);
  if (s->tcp.tls == NULL && (o->tls_self != NULL || o->tls_cert != NULL))
    return UV_EINVAL;
  if (o->log_file != NULL && (s->log_file = fopen(o->log_file, "ae")) == NULL) {
    int err = errno;
    snprintf(why, cap, "%s: %s", o->log_file, strerror(err));
    return uv_translate_sys_error(err);
  }
  return 0;
}

int fakes3_start(uv_loop_t* loop, const fakes3_options_t* options, fakes3_t** server, char* why,
                 size_t why_cap) {
  const fakes3_protocol_t* protocol = find_protocol(options->protocol);
  if (protocol == NULL) {
    snprintf(why, why_cap, "\"%s\" is no protocol; there are s3, azure and gcs", options->protocol);
    return UV_EINVAL;
  }
  fakes3_t* s = make_server(loop, options, protocol);
  int err = prepare(s, options, why, why_cap);
  if (err != 0) {
    free_server(s);
    return err;
  }
  if ((err = uv_timer_init(loop, &s->relisten)) != 0) {
    free_server(s);
    return err;
  }
  s->relisten.data = s;
  s->handles++;
  err = s3l_test_server_listen(&s->tcp, &s->address);
  if (err == 0)
    err = set_url(s);
  if (err != 0) {
    snprintf(why, why_cap, "cannot listen on %s port %u: %s", s->host, options->port,
             uv_strerror(err));
    fakes3_stop(s, NULL, NULL);
    return err;
  }
  *server = s;
  return 0;
}

/* ---- Stopping ---- */

static void on_relisten_closed(uv_handle_t* handle) {
  fakes3_handle_closed(handle->data);
}

void fakes3_disconnect(fakes3_t* server) {
  while (!s3l_list_empty(&server->tcp.conns))
    fakes3_conn_reset((fakes3_conn_t*)(void*)server->tcp.conns.next);
}

void fakes3_stop(fakes3_t* server, fakes3_stop_cb cb, void* arg) {
  server->stop_cb = cb;
  server->stop_arg = arg;
  server->stopping = true;
  s3l_test_server_unlisten(&server->tcp);
  fakes3_disconnect(server);
  while (!s3l_list_empty(&server->requests))
    fakes3_request_finish(S3L_CONTAINER_OF(server->requests.next, fakes3_request_t, link));
  uv_close((uv_handle_t*)&server->relisten, on_relisten_closed);
}

void fakes3_reset(fakes3_t* server) {
  s3l_list_t* l = server->requests.next;
  while (l != &server->requests) {
    fakes3_request_t* r = S3L_CONTAINER_OF(l, fakes3_request_t, link);
    l = l->next;
    if (r->conn != NULL && r->replaying)
      fakes3_conn_reset(r->conn);
    if (r->conn == NULL)
      fakes3_request_finish(r);
  }
  fakes3_objects_clear(server, false);
}

void fakes3_counters(const fakes3_t* server, fakes3_counters_t* out) {
  *out = server->counters;
}

size_t fakes3_connections(const fakes3_t* server) {
  return server->tcp.conns_n;
}
