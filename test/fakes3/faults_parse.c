/* fakes3/faults_parse.c: a rule from its JSON. Whatever is not understood is an error that names
 * it, so that no test passes because a fault was misspelt. */
#include <stdlib.h>
#include <string.h>

#include "fakes3/internal.h"
#include "util/json.h"

#define TEXT_MAX 1100
#define HTML_MAX (16 * 1024)

typedef struct parse_s {
  s3l_json_t json;
  fakes3_rule_t* rule;
  char* why;
  size_t cap;
} parse_t;

static bool fail(parse_t* p, const char* name, const char* what) {
  snprintf(p->why, p->cap, "\"%s\" %s", name, what);
  return false;
}

static bool get_text(parse_t* p, int object, const char* name, size_t max, char** out) {
  char* text = fakes3_alloc(max);
  bool good = s3l_json_get_string(&p->json, object, name, text, max) == 0;
  free(*out);
  *out = good ? fakes3_dup(s3l_span_cstr(text)) : NULL;
  free(text);
  return good || fail(p, name, "must be a string of moderate length");
}

static bool get_number(parse_t* p, int object, const char* name, uint64_t* out) {
  return s3l_json_get_u64(&p->json, object, name, out) == 0 ||
         fail(p, name, "must be a whole number, 0 or more");
}

/* ---- match ---- */

static bool is_one_of(const char* s, const char* const* words) {
  while (*words != NULL && strcmp(s, *words) != 0)
    words++;
  return *words != NULL;
}

static bool parse_header_match(parse_t* p, int match) {
  int object;
  char name[64];
  fakes3_match_t* m = &p->rule->match;
  if (s3l_json_get_object(&p->json, match, "header", &object) != 0)
    return fail(p, "header", "must be an object with name and value");
  for (int t = -1; (t = s3l_json_member(&p->json, object, t, name, sizeof(name))) >= 0;) {
    if (strcmp(name, "name") != 0 && strcmp(name, "value") != 0)
      return fail(p, name, "is not a field of a header to match");
  }
  if (!get_text(p, object, "name", TEXT_MAX, &m->header) ||
      !get_text(p, object, "value", TEXT_MAX, &m->value))
    return false;
  for (char* c = m->header; *c != '\0'; c++)
    *c = *c >= 'A' && *c <= 'Z' ? (char)(*c - 'A' + 'a') : *c;
  return true;
}

static bool parse_match_field(parse_t* p, int match, const char* name) {
  static const char* const methods[] = {"GET", "HEAD", "PUT", "DELETE", "LIST", "POST", NULL};
  static const char* const conditions[] = {"if-match", "if-none-match", "any", "none", NULL};
  fakes3_match_t* m = &p->rule->match;
  if (strcmp(name, "method") == 0)
    return get_text(p, match, name, TEXT_MAX, &m->method) &&
           (is_one_of(m->method, methods) ||
            fail(p, name, "must be GET, HEAD, PUT, DELETE, LIST or POST"));
  if (strcmp(name, "condition") == 0)
    return get_text(p, match, name, TEXT_MAX, &m->condition) &&
           (is_one_of(m->condition, conditions) ||
            fail(p, name, "must be if-match, if-none-match, any or none"));
  if (strcmp(name, "bucket") == 0)
    return get_text(p, match, name, TEXT_MAX, &m->bucket);
  if (strcmp(name, "key") == 0)
    return get_text(p, match, name, TEXT_MAX, &m->key);
  if (strcmp(name, "access_key") == 0)
    return get_text(p, match, name, TEXT_MAX, &m->access_key);
  if (strcmp(name, "header") == 0)
    return parse_header_match(p, match);
  if (strcmp(name, "connection") == 0)
    return get_number(p, match, name, &m->connection);
  if (strcmp(name, "source_port") == 0)
    return get_number(p, match, name, &m->source_port);
  return fail(p, name, "is not a field of match");
}

static bool parse_match(parse_t* p) {
  int match;
  char name[64];
  if (s3l_json_get_object(&p->json, S3L_JSON_ROOT, "match", &match) != 0)
    return fail(p, "match", "must be an object");
  for (int t = -1; (t = s3l_json_member(&p->json, match, t, name, sizeof(name))) >= 0;) {
    if (!parse_match_field(p, match, name))
      return false;
  }
  return true;
}

/* ---- The rule ---- */

static fakes3_action_t find_action(const char* name) {
  for (int a = FAKES3_NONE + 1; a < FAKES3_ACTION_COUNT; a++) {
    if (strcmp(fakes3_action_name((fakes3_action_t)a), name) == 0)
      return (fakes3_action_t)a;
  }
  return FAKES3_NONE;
}

static bool parse_action(parse_t* p, const char* name) {
  bool on = false;
  fakes3_rule_t* rule = p->rule;
  fakes3_action_t action = find_action(name);
  if (action == FAKES3_NONE)
    return fail(p, name, "is neither a field of a rule nor an action");
  if (rule->action != FAKES3_NONE)
    return fail(p, name, "is a second action; a rule has one");
  rule->action = action;
  if (fakes3_action_kind(action) == FAKES3_FLAG)
    return (s3l_json_get_bool(&p->json, S3L_JSON_ROOT, name, &on) == 0 && on) ||
           fail(p, name, "must be true");
  if (!get_number(p, S3L_JSON_ROOT, name, &rule->value))
    return false;
  if (action == FAKES3_DO_status && (rule->value < 300 || rule->value > 599))
    return fail(p, name, "must be 300..599");
  if (action == FAKES3_DO_continue &&
      (rule->value < 100 || rule->value > 199 || rule->value == 101))
    return fail(p, name, "must be 100..199 and not 101");
  return rule->value <= INT32_MAX || fail(p, name, "is too large");
}

static bool parse_field(parse_t* p, const char* name) {
  fakes3_rule_t* rule = p->rule;
  if (strcmp(name, "match") == 0)
    return parse_match(p);
  if (strcmp(name, "count") == 0)
    return get_number(p, S3L_JSON_ROOT, name, &rule->count);
  if (strcmp(name, "skip") == 0)
    return get_number(p, S3L_JSON_ROOT, name, &rule->skip);
  if (strcmp(name, "code") == 0)
    return get_text(p, S3L_JSON_ROOT, name, TEXT_MAX, &rule->code);
  if (strcmp(name, "message") == 0)
    return get_text(p, S3L_JSON_ROOT, name, TEXT_MAX, &rule->message);
  if (strcmp(name, "html") == 0)
    return get_text(p, S3L_JSON_ROOT, name, HTML_MAX, &rule->html);
  if (strcmp(name, "after_effect") == 0)
    return s3l_json_get_bool(&p->json, S3L_JSON_ROOT, name, &rule->after_effect) == 0 ||
           fail(p, name, "must be true or false");
  return parse_action(p, name);
}

static bool check_whole(parse_t* p) {
  const fakes3_rule_t* rule = p->rule;
  const fakes3_match_t none = {NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, 0};
  if (rule->action == FAKES3_NONE) {
    snprintf(p->why, p->cap, "the rule has no action");
    return false;
  }
  if (rule->action != FAKES3_DO_status &&
      (rule->code != NULL || rule->message != NULL || rule->html != NULL || rule->after_effect))
    return fail(p, fakes3_action_name(rule->action),
                "does not go with code, message, html or after_effect");
  if (rule->html != NULL && (rule->code != NULL || rule->message != NULL))
    return fail(p, "html", "does not go with code or message");
  bool plain = memcmp(&rule->match, &none, sizeof(none)) == 0 && rule->skip == 0 &&
               rule->count == UINT64_MAX;
  fakes3_slot_t slot = fakes3_action_slot(rule->action);
  if ((slot == FAKES3_SLOT_REFUSE || slot == FAKES3_SLOT_CHECK) && !plain)
    return fail(p, fakes3_action_name(rule->action),
                "is for the whole server: it takes neither match, count nor skip");
  return true;
}

static bool parse_rule(parse_t* p) {
  char name[64];
  for (int t = -1; (t = s3l_json_member(&p->json, S3L_JSON_ROOT, t, name, sizeof(name))) >= 0;) {
    if (!parse_field(p, name))
      return false;
  }
  return check_whole(p);
}

fakes3_rule_t* fakes3_rule_parse(s3l_span_t json, char* why, size_t why_cap) {
  parse_t p = {.why = why, .cap = why_cap};
  if (s3l_json_parse(&p.json, json) != 0) {
    snprintf(why, why_cap, "the rule must be one JSON object");
    return NULL;
  }
  p.rule = fakes3_alloc(sizeof(*p.rule));
  s3l_list_init(&p.rule->link);
  p.rule->count = UINT64_MAX;
  p.rule->json = fakes3_dup(json);
  if (parse_rule(&p))
    return p.rule;
  fakes3_rule_free(p.rule);
  return NULL;
}

void fakes3_rule_free(fakes3_rule_t* rule) {
  fakes3_match_t* m = &rule->match;
  char* const strings[] = {m->method,     m->bucket,  m->key,    m->condition,
                           m->access_key, m->header,  m->value,  rule->code,
                           rule->message, rule->html, rule->json};
  for (size_t i = 0; i < sizeof(strings) / sizeof(strings[0]); i++)
    free(strings[i]);
  free(rule);
}

bool fakes3_parse_number(s3l_span_t json, const char* name, int64_t* out, char* why, size_t cap) {
  s3l_json_t parsed;
  char found[64];
  if (s3l_json_parse(&parsed, json) == 0 &&
      s3l_json_get_i64(&parsed, S3L_JSON_ROOT, name, out) == 0) {
    int first = s3l_json_member(&parsed, S3L_JSON_ROOT, -1, found, sizeof(found));
    if (s3l_json_member(&parsed, S3L_JSON_ROOT, first, found, sizeof(found)) < 0)
      return true;
  }
  snprintf(why, cap, "the body must be {\"%s\": NUMBER}", name);
  return false;
}
