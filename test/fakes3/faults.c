/* fakes3/faults.c: applies the rules. Rules are tried in the order in which they were added. In
 * each slot the first rule that matches applies, so a request can have a latency and a dialect, but
 * not two outcomes. */
#include <stdlib.h>
#include <string.h>

#include "fakes3/internal.h"

const fakes3_action_info_t fakes3_actions[FAKES3_ACTION_COUNT] = {
#define XX(name, kind, slot) [FAKES3_DO_##name] = {#name, FAKES3_##kind, FAKES3_SLOT_##slot},
    FAKES3_ACTIONS(XX)
#undef XX
};

static fakes3_rule_t* rule_at(s3l_list_t* l) {
  return S3L_CONTAINER_OF(l, fakes3_rule_t, link);
}

/* The first rule with that action; NULL: none. */
static fakes3_rule_t* find_rule(const fakes3_t* s, fakes3_action_t action) {
  for (s3l_list_t* l = s->rules.next; l != &s->rules; l = l->next) {
    if (rule_at(l)->action == action)
      return rule_at(l);
  }
  return NULL;
}

bool fakes3_does(const fakes3_t* s, fakes3_action_t action) {
  return find_rule(s, action) != NULL;
}

bool fakes3_does_to(const fakes3_t* s, fakes3_action_t action, const char* key) {
  const fakes3_rule_t* rule = find_rule(s, action);
  const char* prefix = rule != NULL && rule->match.key != NULL ? rule->match.key : "";
  return rule != NULL && strncmp(key, prefix, strlen(prefix)) == 0;
}

/* ---- Refusing connections ---- */

/* Resets all connections but those with an active control request. */
static void reset_clients(fakes3_t* s) {
  s3l_list_t* l = s->tcp.conns.next;
  while (l != &s->tcp.conns) {
    fakes3_conn_t* c = S3L_CONTAINER_OF(l, fakes3_conn_t, tcp.link);
    l = l->next;
    if (c->active == NULL || !fakes3_request_is_control(c->active))
      fakes3_conn_reset(c);
  }
}

static void remove_rule(fakes3_rule_t* rule) {
  s3l_list_remove(&rule->link);
  fakes3_rule_unref(rule);
}

static void on_relisten(uv_timer_t* timer) {
  fakes3_t* s = timer->data;
  for (fakes3_rule_t* rule; (rule = find_rule(s, FAKES3_DO_refuse_ms)) != NULL;)
    remove_rule(rule);
  if (fakes3_listen(s, true) != 0)
    fprintf(stderr, "fakes3: the port is gone\n");
}

static void start_refusing(fakes3_t* s, const fakes3_rule_t* rule) {
  if (rule->action == FAKES3_DO_refuse_ms) {
    (void)fakes3_listen(s, false);
    uv_update_time(s->loop);
    if (uv_timer_start(&s->relisten, on_relisten, rule->value, 0) != 0)
      abort();
  }
  reset_clients(s);
}

/* ---- Rules ---- */

int fakes3_rule_add(fakes3_t* s, s3l_span_t json, char* why, size_t why_cap) {
  fakes3_rule_t* rule = fakes3_rule_parse(json, why, why_cap);
  if (rule == NULL)
    return UV_EINVAL;
  rule->id = ++s->last_rule;
  s3l_list_push_back(&s->rules, &rule->link);
  if (fakes3_actions[rule->action].slot == FAKES3_SLOT_REFUSE)
    start_refusing(s, rule);
  return rule->id;
}

int fakes3_fault(fakes3_t* server, const char* json, char* why, size_t why_cap) {
  char unused[160];
  return fakes3_rule_add(server, s3l_span_cstr(json), why != NULL ? why : unused,
                         why != NULL ? why_cap : sizeof(unused));
}

bool fakes3_fault_clear(fakes3_t* server, int rule) {
  s3l_list_t* l = server->rules.next;
  bool found = rule == 0;
  bool was_deaf = false;
  while (l != &server->rules) {
    fakes3_rule_t* one = rule_at(l);
    l = l->next;
    if (rule != 0 && one->id != rule)
      continue;
    found = true;
    was_deaf = was_deaf || one->action == FAKES3_DO_refuse_ms;
    remove_rule(one);
  }
  if (was_deaf && !server->stopping) {
    uv_timer_stop(&server->relisten);
    on_relisten(&server->relisten);
  }
  return found;
}

/* ---- Matching ---- */

static bool contains(s3l_span_t text, const char* part) {
  size_t n = strlen(part);
  for (size_t i = 0; i + n <= text.n; i++) {
    if (memcmp(text.p + i, part, n) == 0)
      return true;
  }
  return false;
}

static bool match_text(const char* wanted, const char* is) {
  return wanted == NULL || (is != NULL && strcmp(wanted, is) == 0);
}

static bool match_condition(const char* wanted, const fakes3_entry_t* e) {
  if (wanted == NULL)
    return true;
  if (strcmp(wanted, "if-match") == 0)
    return e->if_match != NULL;
  if (strcmp(wanted, "if-none-match") == 0)
    return e->if_none_match != NULL;
  bool any = e->if_match != NULL || e->if_none_match != NULL;
  return strcmp(wanted, "any") == 0 ? any : !any;
}

/* A list request is a GET too. */
static bool match_method(const char* wanted, const fakes3_request_t* r) {
  return match_text(wanted, r->entry->e.method) ||
         strcmp(wanted, llhttp_method_name(r->method)) == 0;
}

static bool matches(const fakes3_rule_t* rule, const fakes3_request_t* r) {
  const fakes3_match_t* m = &rule->match;
  const fakes3_entry_t* e = &r->entry->e;
  return match_method(m->method, r) && match_text(m->bucket, e->bucket) &&
         (m->key == NULL || strncmp(e->key, m->key, strlen(m->key)) == 0) &&
         match_condition(m->condition, e) && match_text(m->access_key, e->access_key) &&
         (m->header == NULL || contains(fakes3_header_value(r, m->header), m->value)) &&
         (m->connection == 0 || m->connection == e->conn);
}

void fakes3_plan(fakes3_request_t* r) {
  fakes3_bytes_t names = {NULL, 0, 0};
  fakes3_t* s = r->server;
  for (s3l_list_t* l = s->rules.next; l != &s->rules; l = l->next) {
    fakes3_rule_t* rule = rule_at(l);
    fakes3_slot_t slot = fakes3_actions[rule->action].slot;
    if (slot == FAKES3_SLOT_REFUSE || r->plan[slot] != NULL || rule->count == 0 ||
        !matches(rule, r))
      continue;
    if (rule->skip > 0) {
      rule->skip--;
      continue;
    }
    if (rule->count != UINT64_MAX)
      rule->count--;
    rule->applied++;
    rule->refs++;
    r->plan[slot] = rule;
    fakes3_printf(&names, "%s%s", names.n > 0 ? "," : "", fakes3_actions[rule->action].name);
  }
  if (names.n > 0) {
    s->counters.faults++;
    fakes3_log_set(&r->entry->e.fault, fakes3_span(&names));
  }
  fakes3_bytes_free(&names);
}

bool fakes3_plan_has(const fakes3_request_t* r, fakes3_action_t action) {
  const fakes3_rule_t* rule = r->plan[fakes3_actions[action].slot];
  return rule != NULL && rule->action == action;
}

uint64_t fakes3_plan_value(const fakes3_request_t* r, fakes3_slot_t slot) {
  return r->plan[slot] != NULL ? r->plan[slot]->value : 0;
}
