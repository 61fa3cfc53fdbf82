/* fakes3/control.c: the control path, unsigned and for loopback clients only. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "fakes3/protocol.h"

static void respond(fakes3_request_t* r, int status) {
  r->reply.status = status;
  if (r->reply.body.n > 0)
    r->reply.type = "application/json";
  fakes3_reply(r);
}

static void refuse(fakes3_request_t* r, int status, const char* why) {
  fakes3_puts(&r->reply.body, "{\"error\":");
  fakes3_put_json(&r->reply.body, why);
  fakes3_puts(&r->reply.body, "}\n");
  respond(r, status);
}

static void add_fault(fakes3_request_t* r) {
  char why[256];
  int id = fakes3_rule_add(r->server, fakes3_span(&r->body), why, sizeof(why));
  if (id < 0) {
    refuse(r, 400, why);
    return;
  }
  fakes3_printf(&r->reply.body, "{\"id\":%d}\n", id);
  respond(r, 200);
}

static void clear_faults(fakes3_request_t* r, s3l_span_t which) {
  uint64_t id = 0;
  bool good = which.n == 0 || (s3l_span_to_u64(which, &id) && id > 0 && id <= INT32_MAX);
  if (good && fakes3_fault_clear(r->server, (int)id))
    respond(r, 204);
  else
    refuse(r, 404, "there is no rule of that number");
}

static void put_counters(fakes3_bytes_t* b, const fakes3_counters_t* c) {
  fakes3_printf(b, "\"connections\":%" PRIu64 ",\"requests\":%" PRIu64 ",\"in_flight\":%" PRIu64,
                c->connections, c->requests, c->in_flight);
  fakes3_printf(b,
                ",\"get\":%" PRIu64 ",\"head\":%" PRIu64 ",\"put\":%" PRIu64 ",\"delete\":%" PRIu64
                ",\"list\":%" PRIu64 ",\"sessions\":%" PRIu64,
                c->get, c->head, c->put, c->del, c->list, c->sessions);
  fakes3_printf(b, ",\"effects\":%" PRIu64 ",\"writes\":%" PRIu64 ",\"faults\":%" PRIu64,
                c->effects, c->writes, c->faults);
  fakes3_printf(b,
                ",\"unauthorized\":%" PRIu64 ",\"malformed\":%" PRIu64
                ",\"tls_handshakes\":%" PRIu64 ",\"tls_resumed\":%" PRIu64,
                c->unauthorized, c->malformed, c->tls_handshakes, c->tls_resumed);
}

static void put_rules(fakes3_bytes_t* b, const fakes3_t* s) {
  for (s3l_list_t* l = s->rules.next; l != &s->rules; l = l->next) {
    const fakes3_rule_t* rule = S3L_CONTAINER_OF(l, const fakes3_rule_t, link);
    fakes3_printf(b, "%s{\"id\":%d,\"applied\":%llu,\"skip_left\":%llu",
                  l == s->rules.next ? "" : ",", rule->id, (unsigned long long)rule->applied,
                  (unsigned long long)rule->skip);
    if (rule->count != UINT64_MAX)
      fakes3_printf(b, ",\"count_left\":%llu", (unsigned long long)rule->count);
    fakes3_printf(b, ",\"rule\":%s}", rule->json);
  }
}

static void give_state(fakes3_request_t* r) {
  const fakes3_t* s = r->server;
  fakes3_bytes_t* b = &r->reply.body;
  fakes3_puts(b, "{\"url\":");
  fakes3_put_json(b, s->url);
  fakes3_printf(b, ",\"protocol\":\"%s\"", s->protocol->name);
  fakes3_printf(b, ",\"connections_open\":%zu,\"objects\":%zu,\"clock_offset_ms\":%lld",
                s->tcp.conns_n, fakes3_object_count(s), (long long)s->clock_offset_ms);
  fakes3_printf(b, ",\"last_seq\":%llu,\"counters\":{", (unsigned long long)s->last_seq);
  put_counters(b, &s->counters);
  fakes3_puts(b, "},\"rules\":[");
  put_rules(b, s);
  fakes3_puts(b, "]}\n");
  respond(r, 200);
}

static void give_log(fakes3_request_t* r) {
  uint64_t since = 0;
  const fakes3_pair_t* p = fakes3_param(r, "since");
  if (p != NULL && !s3l_span_to_u64(p->value, &since)) {
    refuse(r, 400, "\"since\" must be a number");
    return;
  }
  const char* separator = "";
  fakes3_puts(&r->reply.body, "{\"entries\":[");
  for (const fakes3_entry_t* e; (e = fakes3_log_after(r->server, since)) != NULL; since = e->seq) {
    fakes3_puts(&r->reply.body, separator);
    fakes3_log_put(&r->reply.body, e);
    separator = ",\n";
  }
  fakes3_puts(&r->reply.body, "]}\n");
  respond(r, 200);
}

static void set_clock(fakes3_request_t* r) {
  int64_t offset;
  char why[128];
  if (!fakes3_parse_number(fakes3_span(&r->body), "offset_ms", &offset, why, sizeof(why))) {
    refuse(r, 400, why);
    return;
  }
  fakes3_set_clock_offset(r->server, offset);
  respond(r, 204);
}

static void dispatch(fakes3_request_t* r, s3l_span_t name) {
  bool get = r->method == HTTP_GET, post = r->method == HTTP_POST;
  s3l_span_t faults = S3L_SPAN("faults/");
  if (s3l_span_eq(name, S3L_SPAN("faults")) && post) {
    add_fault(r);
  } else if (s3l_span_eq(name, S3L_SPAN("faults")) && r->method == HTTP_DELETE) {
    clear_faults(r, S3L_SPAN(""));
  } else if (s3l_span_starts_with(name, faults) && name.n > faults.n && r->method == HTTP_DELETE) {
    clear_faults(r, (s3l_span_t){name.p + faults.n, name.n - faults.n});
  } else if (s3l_span_eq(name, S3L_SPAN("sessions")) && r->method == HTTP_DELETE) {
    fakes3_end_sessions(r->server);
    respond(r, 204);
  } else if (s3l_span_eq(name, S3L_SPAN("state")) && get) {
    give_state(r);
  } else if (s3l_span_eq(name, S3L_SPAN("log")) && get) {
    give_log(r);
  } else if (s3l_span_eq(name, S3L_SPAN("clock")) && post) {
    set_clock(r);
  } else if (s3l_span_eq(name, S3L_SPAN("reset")) && post) {
    fakes3_reset(r->server);
    respond(r, 204);
  } else {
    refuse(r, 404,
           "there is: POST and DELETE faults, DELETE faults/ID, DELETE sessions, GET state, "
           "GET log?since=SEQ, POST clock, POST reset");
  }
}

void fakes3_control(fakes3_request_t* r) {
  (void)fakes3_request_route(r); /* for the parameters; the path is no bucket's */
  size_t prefix = sizeof(FAKES3_CONTROL_PATH) - 1;
  if (r->reject != NULL) {
    r->reply.close = true;
    refuse(r, 400, "the body must have a length, and not a large one");
  } else if (!r->conn->loopback) {
    refuse(r, 403, "control is for loopback clients");
  } else {
    dispatch(r, (s3l_span_t){r->path.p + prefix, r->path.n - prefix});
  }
}
