/* fakes3/faults_parse.c: reads a rule from JSON. Unknown members and bad values are errors that
 * name the member, so that no test passes because a fault was misspelt. */
#include <stddef.h>
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

/* ---- Members ---- */

/* A member of an object that is a text or a number. */
typedef struct field_s {
  const char* name;
  size_t at;                /* where its value goes */
  size_t text_max;          /* with its NUL; 0: a number */
  const char* const* words; /* the only texts that it may be; NULL: any */
  const char* must;         /* what an error says of them */
} field_t;

static bool is_one_of(const char* s, const char* const* words) {
  while (*words != NULL && strcmp(s, *words) != 0)
    words++;
  return *words != NULL;
}

static bool parse_field(parse_t* p, int object, const field_t* f, void* base) {
  void* to = (char*)base + f->at;
  if (f->text_max == 0)
    return get_number(p, object, f->name, to);
  return get_text(p, object, f->name, f->text_max, to) &&
         (f->words == NULL || is_one_of(*(char**)to, f->words) || fail(p, f->name, f->must));
}

typedef bool (*other_t)(parse_t* p, int object, const char* name);

/* Reads all members of the object: the fields into `base`, and each other one by `other`. */
static bool parse_members(parse_t* p, int object, const field_t* fields, void* base,
                          other_t other) {
  char name[64];
  for (int t = -1; (t = s3l_json_member(&p->json, object, t, name, sizeof(name))) >= 0;) {
    const field_t* f = fields;
    while (f->name != NULL && strcmp(f->name, name) != 0)
      f++;
    if (f->name != NULL ? !parse_field(p, object, f, base) : !other(p, object, name))
      return false;
  }
  return true;
}

/* ---- match ---- */

static const char* const methods[] = {"GET",     "HEAD", "PUT",   "DELETE", "LIST",
                                      "SESSION", "POST", "TOKEN", NULL};
static const char* const conditions[] = {"if-match", "if-none-match", "any", "none", NULL};

static const field_t match_fields[] = {
    {"method", offsetof(fakes3_match_t, method), TEXT_MAX, methods,
     "must be GET, HEAD, PUT, DELETE, LIST, SESSION, TOKEN or POST"},
    {"condition", offsetof(fakes3_match_t, condition), TEXT_MAX, conditions,
     "must be if-match, if-none-match, any or none"},
    {"bucket", offsetof(fakes3_match_t, bucket), TEXT_MAX, NULL, NULL},
    {"key", offsetof(fakes3_match_t, key), TEXT_MAX, NULL, NULL},
    {"access_key", offsetof(fakes3_match_t, access_key), TEXT_MAX, NULL, NULL},
    {"connection", offsetof(fakes3_match_t, connection), 0, NULL, NULL},
    {NULL, 0, 0, NULL, NULL},
};

static const field_t header_fields[] = {
    {"name", offsetof(fakes3_match_t, header), TEXT_MAX, NULL, NULL},
    {"value", offsetof(fakes3_match_t, value), TEXT_MAX, NULL, NULL},
    {NULL, 0, 0, NULL, NULL},
};

static bool refuse_header_member(parse_t* p, int object, const char* name) {
  return fail(p, name, "is not a field of a header to match");
}

static bool parse_header_match(parse_t* p, int match, const char* name) {
  int object;
  fakes3_match_t* m = &p->rule->match;
  if (strcmp(name, "header") != 0)
    return fail(p, name, "is not a field of match");
  if (s3l_json_get_object(&p->json, match, name, &object) != 0)
    return fail(p, name, "must be an object with name and value");
  if (!parse_members(p, object, header_fields, m, refuse_header_member))
    return false;
  if (m->header == NULL || m->value == NULL)
    return fail(p, name, "must be an object with name and value");
  for (char* c = m->header; *c != '\0'; c++)
    *c = *c >= 'A' && *c <= 'Z' ? (char)(*c - 'A' + 'a') : *c;
  return true;
}

static bool parse_match(parse_t* p) {
  int match;
  if (s3l_json_get_object(&p->json, S3L_JSON_ROOT, "match", &match) != 0)
    return fail(p, "match", "must be an object");
  return parse_members(p, match, match_fields, &p->rule->match, parse_header_match);
}

/* ---- The rule ---- */

static fakes3_action_t find_action(const char* name) {
  for (int a = FAKES3_NONE + 1; a < FAKES3_ACTION_COUNT; a++) {
    if (strcmp(fakes3_actions[a].name, name) == 0)
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
  if (fakes3_actions[action].kind == FAKES3_FLAG)
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

static const field_t rule_fields[] = {
    {"count", offsetof(fakes3_rule_t, count), 0, NULL, NULL},
    {"date_ms", offsetof(fakes3_rule_t, date_ms), 0, NULL, NULL},
    {"skip", offsetof(fakes3_rule_t, skip), 0, NULL, NULL},
    {"code", offsetof(fakes3_rule_t, code), TEXT_MAX, NULL, NULL},
    {"message", offsetof(fakes3_rule_t, message), TEXT_MAX, NULL, NULL},
    {"html", offsetof(fakes3_rule_t, html), HTML_MAX, NULL, NULL},
    {"location", offsetof(fakes3_rule_t, location), TEXT_MAX, NULL, NULL},
    {NULL, 0, 0, NULL, NULL},
};

static bool parse_other(parse_t* p, int object, const char* name) {
  if (strcmp(name, "match") == 0)
    return parse_match(p);
  if (strcmp(name, "after_effect") == 0)
    return s3l_json_get_bool(&p->json, object, name, &p->rule->after_effect) == 0 ||
           fail(p, name, "must be true or false");
  return parse_action(p, name);
}

static bool check_whole(parse_t* p) {
  const fakes3_rule_t* rule = p->rule;
  static const fakes3_match_t none;
  if (rule->action == FAKES3_NONE) {
    snprintf(p->why, p->cap, "the rule has no action");
    return false;
  }
  if (rule->action != FAKES3_DO_status &&
      (rule->code != NULL || rule->message != NULL || rule->html != NULL ||
       rule->location != NULL || rule->date_ms != 0 || rule->after_effect))
    return fail(p, fakes3_actions[rule->action].name,
                "does not go with code, message, html, location, date_ms or after_effect");
  if (rule->html != NULL && (rule->code != NULL || rule->message != NULL))
    return fail(p, "html", "does not go with code or message");
  fakes3_slot_t slot = fakes3_actions[rule->action].slot;
  fakes3_match_t match = rule->match;
  if (slot == FAKES3_SLOT_CHECK)
    match.key = NULL;
  bool plain =
      memcmp(&match, &none, sizeof(none)) == 0 && rule->skip == 0 && rule->count == UINT64_MAX;
  if ((slot == FAKES3_SLOT_REFUSE || slot == FAKES3_SLOT_CHECK) && !plain)
    return fail(p, fakes3_actions[rule->action].name,
                "is for the whole server: it takes neither count nor skip, nor a match "
                "other than the key of check_early");
  return true;
}

fakes3_rule_t* fakes3_rule_parse(s3l_span_t json, char* why, size_t why_cap) {
  parse_t p = {.why = why, .cap = why_cap};
  if (s3l_json_parse(&p.json, json) != 0) {
    snprintf(why, why_cap, "the rule must be one JSON object");
    return NULL;
  }
  p.rule = fakes3_alloc(sizeof(*p.rule));
  p.rule->refs = 1;
  p.rule->count = UINT64_MAX;
  p.rule->json = fakes3_dup(json);
  if (parse_members(&p, S3L_JSON_ROOT, rule_fields, p.rule, parse_other) && check_whole(&p))
    return p.rule;
  fakes3_rule_unref(p.rule);
  return NULL;
}

void fakes3_rule_unref(fakes3_rule_t* rule) {
  if (rule == NULL || --rule->refs > 0)
    return;
  fakes3_match_t* m = &rule->match;
  char* const strings[] = {m->method,     m->bucket,  m->key,     m->condition,
                           m->access_key, m->header,  m->value,   rule->code,
                           rule->message, rule->html, rule->json, rule->location};
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
