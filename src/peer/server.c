#include "peer/server.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "loop/loop.h"
#include "peer/message.h"
#include "s3lect/peer.h"
#include "util/assert.h"
#include "util/mem.h"
#include "util/mutant.h"

/* How long the last answers may take when the server closes. */
#define CLOSE_GRACE_MS 500

/* Of pages_listen: probes and Prometheus need few connections, and the peers need theirs. */
#define PAGES_CONNECTIONS 64

struct s3l_peer_server_s {
  s3l_http_server_t* http;  /* NULL: there is none */
  s3l_http_server_t* pages; /* likewise */
  s3l_loop_t* loop;
  s3l_task_t end;
  s3l_peer_registration_t** registrations; /* in the order of their paths */
  size_t len, cap;
  bool closing;
  int open; /* closing: HTTP servers that are not closed yet */
  void (*close_cb)(void* arg);
  void* close_arg;
  s3l_peer_server_config_t config;
};

typedef struct held_s {
  s3l_list_t link; /* in its registration's */
  s3l_peer_registration_t* registration;
  s3l_http_exchange_t* ex;
  s3l_deadline_t deadline;
  bool waits; /* was asked to; else it came while the registration was releasing */
  char candidate[S3LECT_INCARNATION_SIZE]; /* "": nobody who is known */
  size_t candidacy_len;                    /* 0: none, or no longer */
  char candidacy[];
} held_t;

/* ---- Pages ---- */

typedef void (*page_t)(s3l_peer_server_t* p, s3l_http_exchange_t* ex);

static void answer_text(s3l_http_exchange_t* ex, int status, const char* type, s3l_span_t body) {
  const s3l_http_answer_t answer = {.status = status, .content_type = type, .body = body};
  (void)s3l_http_reply(ex, &answer);
}

static void answer_metrics(s3l_peer_server_t* p, s3l_http_exchange_t* ex) {
  size_t len = 0;
  char* page = p->config.metrics(p->config.data, &len);
  if (page != NULL)
    answer_text(ex, 200, "text/plain; version=0.0.4; charset=utf-8", (s3l_span_t){page, len});
  else
    (void)s3l_http_refuse(ex, 503);
  s3l_free(page);
}

static void answer_live(s3l_peer_server_t* p, s3l_http_exchange_t* ex) {
  (void)p;
  answer_text(ex, 200, "text/plain", S3L_SPAN("ok\n"));
}

static void answer_ready(s3l_peer_server_t* p, s3l_http_exchange_t* ex) {
  bool ready = p->config.ready(p->config.data);
  answer_text(ex, ready ? 200 : 503, "text/plain",
              ready ? S3L_SPAN("ok\n") : S3L_SPAN("not yet\n"));
}

static void answer_leader(s3l_peer_server_t* p, s3l_http_exchange_t* ex) {
  uint64_t epoch = 0;
  char text[32] = "not leader\n";
  bool leads = p->config.leads(p->config.data, &epoch);
  if (leads && epoch != 0)
    (void)snprintf(text, sizeof text, "leader %" PRIu64 "\n", epoch);
  else if (leads)
    (void)snprintf(text, sizeof text, "leader\n");
  answer_text(ex, leads ? 200 : 503, "text/plain", s3l_span_cstr(text));
}

/* The page at that path, or NULL; `pages` are those that are served. */
static page_t find_page(unsigned pages, s3l_span_t path) {
  if ((pages & S3L_PAGE_METRICS) != 0 && s3l_span_eq(path, S3L_SPAN("/metrics")))
    return answer_metrics;
  if ((pages & S3L_PAGE_HEALTH) != 0 && s3l_span_eq(path, S3L_SPAN("/livez")))
    return answer_live;
  if ((pages & S3L_PAGE_HEALTH) != 0 && s3l_span_eq(path, S3L_SPAN("/readyz")))
    return answer_ready;
  if ((pages & S3L_PAGE_LEADER) != 0 && s3l_span_eq(path, S3L_SPAN("/leader")))
    return answer_leader;
  return NULL;
}

/* ---- Registrations ---- */

/* The place of a path: where it is, or would be. */
static size_t place(const s3l_peer_server_t* p, s3l_span_t path, bool* found) {
  size_t low = 0, high = p->len;
  *found = false;
  while (low < high) {
    size_t mid = low + (high - low) / 2;
    s3l_span_t at = s3l_span_cstr(p->registrations[mid]->path);
    size_t n = at.n < path.n ? at.n : path.n;
    int order = memcmp(at.p, path.p, n);
    if (order == 0 && at.n == path.n) {
      *found = true;
      return mid;
    }
    if (order < 0 || (order == 0 && at.n < path.n))
      low = mid + 1;
    else
      high = mid;
  }
  return low;
}

static bool make_room(s3l_peer_server_t* p) {
  s3l_peer_registration_t** registrations =
      s3l_grow(p->registrations, p->len, &p->cap, sizeof *registrations);
  if (registrations != NULL)
    p->registrations = registrations;
  return registrations != NULL;
}

int s3l_peer_server_add(s3l_peer_server_t* p, s3l_peer_registration_t* registration) {
  bool found;
  S3L_ASSERT(registration->server == NULL && registration->path[0] == '/');
  if (p->closing)
    return UV_ECANCELED;
  s3l_span_t path = s3l_span_cstr(registration->path);
  size_t i = place(p, path, &found);
  if (found || find_page(p->config.pages, path) != NULL)
    return UV_EEXIST;
  if (!make_room(p))
    return UV_ENOMEM;
  memmove(&p->registrations[i + 1], &p->registrations[i], (p->len - i) * sizeof *p->registrations);
  p->registrations[i] = registration;
  p->len++;
  registration->server = p;
  s3l_list_init(&registration->held);
  return 0;
}

size_t s3l_peer_server_len(const s3l_peer_server_t* p) {
  return p->len;
}

s3l_peer_registration_t* s3l_peer_server_at(const s3l_peer_server_t* p, size_t i) {
  return p->registrations[i];
}

/* ---- Answers ---- */

/* So long after a change requests still come that were sent before it. */
#define CHANGE_MS 2000

static bool has_just_changed(const s3l_peer_registration_t* registration) {
  return registration->changed_ns > 0 && !S3L_MUTANT(CHANGE_HELD) &&
         s3l_clock_lease_ns() - registration->changed_ns < CHANGE_MS * INT64_C(1000000);
}

static void answer_leads(s3l_http_exchange_t* ex, const char* body, size_t len, bool waited) {
  static const s3l_http_header_t applied = {
      .name = {"Preference-Applied", sizeof "Preference-Applied" - 1}, .value = {"wait", 4}};
  const s3l_http_answer_t answer = {
      .status = 200,
      .content_type = "application/json",
      .headers = &applied,
      .headers_len = waited,
      .body = {body, len},
  };
  (void)s3l_http_reply(ex, &answer);
}

/* As the registration is now, without waiting (any longer). */
static void answer_now(s3l_peer_registration_t* registration, s3l_http_exchange_t* ex,
                       const char* candidate, bool waited) {
  char body[S3LECT_PEER_BODY_MAX];
  size_t len = 0;
  if (registration->answer(registration, candidate, body, sizeof body, &len) >=
      S3L_REGISTRATION_GRANTED)
    answer_leads(ex, body, len, waited);
  else
    (void)s3l_http_refuse(ex, 404);
}

static void drop(held_t* h) {
  s3l_loop_deadline_clear(h->registration->server->loop, &h->deadline);
  s3l_list_remove(&h->link);
  s3l_free(h);
}

static void release(held_t* h) {
  s3l_peer_registration_t* registration = h->registration;
  s3l_http_exchange_t* ex = h->ex;
  bool waits = h->waits;
  char candidate[S3LECT_INCARNATION_SIZE];
  memcpy(candidate, h->candidate, sizeof candidate);
  drop(h);
  answer_now(registration, ex, candidate, waits);
}

static void on_time(s3l_deadline_t* deadline) {
  release(S3L_CONTAINER_OF(deadline, held_t, deadline));
}

static void on_abort(s3l_http_exchange_t* ex) {
  drop(ex->data);
}

/* Who asks, and what he says of his candidacy: nothing of a client that is not known by its
 * certificate, or that says something else. */
typedef struct candidate_s {
  s3l_peer_candidacy_t is;
  s3l_span_t text; /* empty: he is no candidate, or none any more */
} candidate_t;

/* Followers and clients would go to the address of a record that is granted, so that it must be one
 * that the client's certificate is for. */
static bool is_at_his_address(const s3l_http_exchange_t* ex, const s3lect_record_t* record) {
  char host[S3LECT_ADDR_SIZE];
  uint16_t port;
  return s3l_peer_address_parse(record->leader_addr, true, host, sizeof host, &port) &&
         s3l_http_client_is(ex, host);
}

static void find_candidate(const s3l_http_exchange_t* ex, candidate_t* out) {
  const s3l_http1_t* r = ex->request;
  s3l_span_t text;
  memset(out, 0, sizeof *out);
  if (!ex->verified || !s3l_peer_candidacy_find(r->headers, r->headers_len, &text))
    return;
  if (!s3l_peer_candidacy_parse(text, &out->is) || !is_at_his_address(ex, &out->is.record))
    memset(out, 0, sizeof *out);
  else if (!out->is.record.released)
    out->text = text;
}

/* What he asked before may still be held, for a connection that he has left. */
static void forget_candidacy(s3l_peer_registration_t* registration, const char* candidate) {
  for (s3l_list_t* at = registration->held.next; at != &registration->held; at = at->next) {
    held_t* h = S3L_CONTAINER_OF(at, held_t, link);
    if (candidate[0] != '\0' && strcmp(h->candidate, candidate) == 0)
      h->candidacy_len = 0;
  }
}

bool s3l_peer_registration_candidate(const s3l_peer_registration_t* registration,
                                     const char* successor, s3lect_record_t* out) {
  s3l_peer_candidacy_t c;
  unsigned best = 0;
  for (const s3l_list_t* at = registration->held.next; at != &registration->held; at = at->next) {
    const held_t* h = S3L_CONTAINER_OF(at, held_t, link);
    if (h->candidacy_len == 0 ||
        !s3l_peer_candidacy_parse((s3l_span_t){h->candidacy, h->candidacy_len}, &c))
      continue;
    bool wanted = successor[0] == '\0' || strcmp(c.record.leader_id, successor) == 0;
    if (!wanted || c.priority <= best)
      continue;
    best = c.priority;
    *out = c.record;
  }
  return best > 0;
}

/* False if it cannot be held: then it is to be answered now. */
static bool hold(s3l_peer_registration_t* registration, s3l_http_exchange_t* ex,
                 const candidate_t* candidate, uint32_t ms, bool waits) {
  held_t* h = s3l_calloc(1, sizeof *h + candidate->text.n);
  if (h == NULL || s3l_http_hold(ex, on_abort) != 0) {
    s3l_free(h);
    return false;
  }
  h->registration = registration;
  h->ex = ex;
  h->waits = waits;
  memcpy(h->candidate, candidate->is.record.incarnation, sizeof h->candidate);
  h->candidacy_len = candidate->text.n;
  if (candidate->text.n > 0)
    memcpy(h->candidacy, candidate->text.p, candidate->text.n);
  ex->data = h;
  s3l_list_push_back(&registration->held, &h->link);
  s3l_deadline_init(&h->deadline, on_time);
  s3l_loop_deadline_ref(registration->server->loop, &h->deadline, false);
  s3l_loop_deadline_set(registration->server->loop, &h->deadline, s3l_clock_in_ms(ms));
  return true;
}

static void answer_election(s3l_peer_server_t* p, s3l_peer_registration_t* registration,
                            s3l_http_exchange_t* ex) {
  char body[S3LECT_PEER_BODY_MAX];
  size_t len = 0;
  const s3l_http1_t* asked = ex->request;
  uint32_t wait_ms = s3l_peer_prefer_wait(asked->headers, asked->headers_len) * 1000;
  if (wait_ms > p->config.max_wait_ms)
    wait_ms = p->config.max_wait_ms;
  if (asked->method != S3L_HTTP_GET)
    wait_ms = 0;
  candidate_t candidate;
  find_candidate(ex, &candidate);
  forget_candidacy(registration, candidate.is.record.incarnation);
  switch (registration->answer(registration, candidate.is.record.incarnation, body, sizeof body,
                               &len)) {
  case S3L_REGISTRATION_LEADS:
    if (wait_ms > 0 && has_just_changed(registration))
      answer_leads(ex, body, len, true);
    else if (wait_ms == 0 || !hold(registration, ex, &candidate, wait_ms, true))
      answer_leads(ex, body, len, false);
    return;
  case S3L_REGISTRATION_GRANTED:
    answer_leads(ex, body, len, false);
    return;
  case S3L_REGISTRATION_RELEASING:
    if (hold(registration, ex, &candidate, S3L_PEER_PARTING_MS, false))
      return;
    break;
  case S3L_REGISTRATION_AWAY:
    break;
  }
  (void)s3l_http_refuse(ex, 404);
}

static void answer_page(s3l_peer_server_t* p, unsigned pages, s3l_http_exchange_t* ex) {
  page_t page = find_page(pages, ex->request->path);
  if (page != NULL)
    page(p, ex);
  else
    (void)s3l_http_refuse(ex, 404);
}

static void on_request(s3l_http_server_t* http, s3l_http_exchange_t* ex) {
  s3l_peer_server_t* p = s3l_http_server_data(http);
  bool found;
  size_t i = place(p, ex->request->path, &found);
  if (ex->request->method == S3L_HTTP_OTHER)
    (void)s3l_http_refuse(ex, 405);
  else if (http == p->pages)
    answer_page(p, S3L_PAGE_ALL, ex);
  else if (found)
    answer_election(p, p->registrations[i], ex);
  else
    answer_page(p, p->config.pages, ex);
}

/* ---- Begin and end ---- */

static void on_left(s3l_task_t* task) {
  s3l_peer_server_t* p = S3L_CONTAINER_OF(task, s3l_peer_server_t, end);
  void (*cb)(void*) = p->close_cb;
  void* arg = p->close_arg;
  s3l_free(p->registrations);
  s3l_free(p);
  if (cb != NULL)
    cb(arg);
}

static int open_http(s3l_peer_server_t* p, uv_loop_t* loop, s3l_http_server_options_t http,
                     s3l_http_server_t** out) {
  http.on_request = on_request;
  http.data = p;
  http.background = true; /* the elector keeps the loop alive */
  return http.listen != NULL ? s3l_http_server_create(loop, &http, out) : 0;
}

static int open_pages(s3l_peer_server_t* p, uv_loop_t* loop,
                      const s3l_peer_server_config_t* config) {
  s3l_http_server_options_t http = config->http;
  http.listen = config->pages_listen;
  http.listen_option = "pages_listen";
  http.tls = NULL;
  http.max_connections = PAGES_CONNECTIONS;
  http.max_held = 0;
  http.max_per_address = PAGES_CONNECTIONS; /* a proxy may ask for everybody */
  return open_http(p, loop, http, &p->pages);
}

int s3l_peer_server_create(uv_loop_t* loop, const s3l_peer_server_config_t* config,
                           s3l_peer_server_t** out) {
  s3l_peer_server_t* p = s3l_calloc(1, sizeof *p);
  if (p == NULL)
    return UV_ENOMEM;
  S3L_ASSERT(config->http.listen != NULL || config->pages_listen != NULL);
  p->config = *config;
  int err = open_http(p, loop, config->http, &p->http);
  if (err == 0)
    err = open_pages(p, loop, config);
  if (err == 0)
    err = s3l_loop_join(loop, &p->loop);
  if (err != 0) {
    if (p->http != NULL)
      s3l_http_server_close(p->http, 0, NULL, NULL);
    S3L_ASSERT(p->pages == NULL); /* an HTTP server has joined the loop already */
    s3l_free(p);
    return err;
  }
  s3l_task_init(&p->end, on_left);
  *out = p;
  return 0;
}

s3l_http_server_t* s3l_peer_server_http(s3l_peer_server_t* p) {
  return p->http;
}

s3l_http_server_t* s3l_peer_server_pages(s3l_peer_server_t* p) {
  return p->pages;
}

void s3l_peer_registration_changed(s3l_peer_registration_t* registration) {
  registration->changed_ns = s3l_clock_lease_ns();
  /* What is asked anew in consequence comes with later turns of the loop. */
  while (!s3l_list_empty(&registration->held))
    release(S3L_CONTAINER_OF(registration->held.next, held_t, link));
}

void s3l_peer_server_remove(s3l_peer_registration_t* registration) {
  s3l_peer_server_t* p = registration->server;
  bool found;
  if (p == NULL)
    return;
  while (!s3l_list_empty(&registration->held)) {
    held_t* h = S3L_CONTAINER_OF(registration->held.next, held_t, link);
    s3l_http_exchange_t* ex = h->ex;
    drop(h);
    (void)s3l_http_refuse(ex, 404);
  }
  size_t i = place(p, s3l_span_cstr(registration->path), &found);
  S3L_ASSERT(found);
  p->len--;
  memmove(&p->registrations[i], &p->registrations[i + 1], (p->len - i) * sizeof *p->registrations);
  registration->server = NULL;
}

static void on_http_closed(void* arg) {
  s3l_peer_server_t* p = arg;
  if (--p->open == 0)
    s3l_loop_leave(p->loop, &p->end);
}

void s3l_peer_server_close(s3l_peer_server_t* p, void (*cb)(void* arg), void* arg) {
  S3L_ASSERT(!p->closing);
  p->closing = true;
  p->close_cb = cb;
  p->close_arg = arg;
  while (p->len > 0)
    s3l_peer_server_remove(p->registrations[p->len - 1]);
  s3l_http_server_t* const all[] = {p->http, p->pages};
  for (size_t i = 0; i < 2; i++) {
    p->open += all[i] != NULL;
    if (all[i] != NULL)
      s3l_http_server_close(all[i], CLOSE_GRACE_MS, on_http_closed, p);
  }
}
