/* fakes3/handle.c: takes a request from its arrival to its reply. Faults can delay each stage:
 *
 *   arrived -> (latency) -> outcome before the effect | check -> (non_atomic) -> effect
 *           -> (reply_delay) -> reply, whole or broken
 *
 * A proxy that replays sends the request once more, before or after the client has its reply.
 *
 * The client may have closed before any stage. The effect happens nevertheless, as on any server
 * that has read the whole request. */
#include "fakes3/internal.h"

static fakes3_action_t outcome(const fakes3_request_t* r) {
  const fakes3_rule_t* rule = r->plan[FAKES3_SLOT_OUTCOME];
  return rule != NULL ? rule->action : FAKES3_NONE;
}

/* ---- Reply ---- */

/* To be run once more: its conditions are checked again. */
static void replay(fakes3_request_t* r, void (*then)(fakes3_request_t* r)) {
  fakes3_reply_clear(&r->reply);
  r->checked = false;
  r->replaying = true;
  fakes3_request_after(r, fakes3_plan_value(r, FAKES3_SLOT_REPLAY), then);
}

/* Leaves the connection to others, and goes on without it. */
static void detach(fakes3_request_t* r) {
  r->conn->active = NULL;
  r->conn = NULL;
}

static void take_late_effect(fakes3_request_t* r);

void fakes3_reply(fakes3_request_t* r) {
  fakes3_bytes_t out = {NULL, 0, 0};
  fakes3_conn_t* c = r->conn;
  if (c == NULL) {
    fakes3_request_finish(r);
    return;
  }
  fakes3_reply_bytes(r, &out);
  fakes3_after_t after = fakes3_reply_closes(r) ? FAKES3_CLOSE : FAKES3_KEEP;
  if (outcome(r) == FAKES3_DO_reset_mid_reply) {
    out.n /= 2;
    after = FAKES3_RESET;
  }
  if (r->entry != NULL)
    r->entry->e.replied_ns = fakes3_lease_ns();
  if (fakes3_plan_has(r, FAKES3_DO_replay_ms) && r->entry->e.order > 0) {
    detach(r);
    replay(r, take_late_effect);
  } else {
    fakes3_request_finish(r);
  }
  fakes3_conn_send(c, fakes3_span(&out), after);
  fakes3_bytes_free(&out);
}

static void reply(fakes3_request_t* r) {
  fakes3_request_after(r, fakes3_plan_value(r, FAKES3_SLOT_REPLY_DELAY), fakes3_reply);
}

/* Ends the connection without a reply, and the request with it. */
static void drop(fakes3_request_t* r) {
  if (r->conn != NULL)
    fakes3_conn_close(r->conn);
  else
    fakes3_request_finish(r);
}

/* Never replies: the request ends when its client closes. */
static void hold(fakes3_request_t* r) {
  if (r->conn == NULL)
    fakes3_request_finish(r);
}

static void make_fault_reply(fakes3_request_t* r) {
  const fakes3_rule_t* rule = r->plan[FAKES3_SLOT_OUTCOME];
  int status = (int)rule->value;
  if (rule->html != NULL)
    fakes3_html(r, status, rule->html);
  else
    fakes3_error_with(r, rule->code != NULL ? rule->code : fakes3_default_code(r, status), status,
                      rule->message);
  r->date_ms = (int64_t)rule->date_ms;
  if (rule->location != NULL)
    fakes3_printf(&r->reply.headers, "Location: %s%.*s\r\n", rule->location, (int)r->target.n,
                  r->target.p);
}

/* ---- Effect ---- */

static void after_effect(fakes3_request_t* r) {
  switch (outcome(r)) {
  case FAKES3_DO_drop_after:
    drop(r);
    return;
  case FAKES3_DO_stall_after:
    hold(r);
    return;
  case FAKES3_DO_status:
    make_fault_reply(r);
    break;
  default:
    break;
  }
  reply(r);
}

static void effect(fakes3_request_t* r) {
  fakes3_op_run(r);
  if (fakes3_plan_has(r, FAKES3_DO_replay_answer_ms) && !r->replaying)
    replay(r, effect);
  else
    after_effect(r);
}

static void start_effect(fakes3_request_t* r) {
  if (r->reject != NULL) {
    fakes3_error(r, r->reject);
    if (fakes3_header(r, "transfer-encoding") != NULL)
      fakes3_error_add(r, "Header", S3L_SPAN("Transfer-Encoding"));
    reply(r);
    return;
  }
  if (!fakes3_auth_check(r)) {
    reply(r);
    return;
  }
  if (r->refused) {
    after_effect(r);
    return;
  }
  if (r->checked || r->plan[FAKES3_SLOT_NON_ATOMIC] == NULL) {
    effect(r);
    return;
  }
  r->checked = fakes3_op_check(r);
  if (r->checked)
    fakes3_request_after(r, fakes3_plan_value(r, FAKES3_SLOT_NON_ATOMIC), effect);
  else
    after_effect(r);
}

/* The late effect of a request whose connection was closed. */
static void take_late_effect(fakes3_request_t* r) {
  if (r->reject == NULL && fakes3_auth_check(r))
    fakes3_op_run(r);
  fakes3_request_finish(r);
}

static void close_and_delay(fakes3_request_t* r) {
  fakes3_conn_t* c = r->conn;
  if (c != NULL) {
    detach(r);
    fakes3_conn_close(c);
  }
  fakes3_request_after(r, fakes3_plan_value(r, FAKES3_SLOT_OUTCOME), take_late_effect);
}

static void begin(fakes3_request_t* r) {
  switch (outcome(r)) {
  case FAKES3_DO_drop_before:
    drop(r);
    return;
  case FAKES3_DO_stall:
    hold(r);
    return;
  case FAKES3_DO_late_ms:
    close_and_delay(r);
    return;
  case FAKES3_DO_status:
    if (r->plan[FAKES3_SLOT_OUTCOME]->after_effect)
      break;
    make_fault_reply(r);
    reply(r);
    return;
  default:
    break;
  }
  start_effect(r);
}

/* ---- Arrival ---- */

static void count(fakes3_request_t* r) {
  fakes3_counters_t* c = &r->server->counters;
  bool session = fakes3_is_create_session(r) || r->gives_token;
  c->sessions += session;
  c->list += r->method == HTTP_GET && r->key[0] == '\0' && !session;
  c->get += r->method == HTTP_GET && r->key[0] != '\0';
  c->head += r->method == HTTP_HEAD;
  c->put += r->method == HTTP_PUT;
  c->del += r->method == HTTP_DELETE;
}

/* check_early: as a store that checks the conditions before it reads the body. */
void fakes3_handle_headers(fakes3_request_t* r) {
  if (r->method != HTTP_PUT || !fakes3_does(r->server, FAKES3_DO_check_early))
    return;
  r->reject = fakes3_request_route(r);
  if (r->reject == NULL && !fakes3_does_to(r->server, FAKES3_DO_check_early, r->key))
    return;
  r->checked = r->reject == NULL && fakes3_op_check(r);
  r->refused = r->reject == NULL && !r->checked;
}

void fakes3_handle(fakes3_request_t* r) {
  fakes3_t* s = r->server;
  r->arrived_ms = fakes3_wall_ms(s);
  r->reply.close = r->reject != NULL;
  if (fakes3_request_is_control(r)) {
    fakes3_control(r);
    return;
  }
  if (fakes3_does(s, FAKES3_DO_refuse)) {
    fakes3_conn_reset(r->conn);
    return;
  }
  if (s->tcp.tls != NULL && r->conn->tcp.ssl == NULL) {
    fakes3_handle_malformed(r->conn, "BadRequest");
    return;
  }
  const char* error = r->bucket == NULL ? fakes3_request_route(r) : NULL;
  if (r->reject == NULL)
    r->reject = error;
  r->entry = fakes3_log_begin(r);
  count(r);
  fakes3_plan(r);
  if (fakes3_plan_has(r, FAKES3_DO_normalise_keys))
    fakes3_request_normalise(r);
  fakes3_request_after(r, fakes3_plan_value(r, FAKES3_SLOT_LATENCY), begin);
}

void fakes3_handle_malformed(fakes3_conn_t* conn, const char* code) {
  if (conn->building != NULL)
    fakes3_request_finish(conn->building);
  if (conn->active != NULL)
    fakes3_request_finish(conn->active);
  fakes3_request_t* r = fakes3_request_new(conn);
  conn->active = r;
  r->method = HTTP_GET;
  r->reply.close = true;
  fakes3_error(r, code);
  fakes3_reply(r);
}
