/* fakes3/log.c: the log of requests, in memory and in a file. A line is written when its request
 * ends. */
#include <stdlib.h>

#include "fakes3/protocol.h"

void fakes3_log_set(const char** field, s3l_span_t value) {
  free((void*)(uintptr_t)*field);
  *field = fakes3_dup(value);
}

static void free_entry(fakes3_log_entry_t* entry) {
  fakes3_entry_t* e = &entry->e;
  const char** const strings[] = {&e->method,   &e->bucket,        &e->key,
                                  &e->if_match, &e->if_none_match, &e->access_key,
                                  &e->code,     &e->etag,          &e->fault};
  for (size_t i = 0; i < sizeof(strings) / sizeof(strings[0]); i++)
    free((void*)(uintptr_t)*strings[i]);
  s3l_list_remove(&entry->link);
  free(entry);
}

/* Removes the oldest entries, up to the first one whose request has not ended. */
static void trim(fakes3_t* s) {
  while (s->log_n > s->log_max) {
    fakes3_log_entry_t* oldest = S3L_CONTAINER_OF(s->log.next, fakes3_log_entry_t, link);
    if (!oldest->e.ended)
      return;
    s->log_n--;
    free_entry(oldest);
  }
}

fakes3_log_entry_t* fakes3_log_begin(fakes3_request_t* r) {
  fakes3_t* s = r->server;
  fakes3_log_entry_t* entry = fakes3_alloc(sizeof(*entry));
  fakes3_entry_t* e = &entry->e;
  e->seq = ++s->last_seq;
  e->conn = r->conn->id;
  e->arrived_ns = fakes3_lease_ns();
  e->size = r->body.n;
  fakes3_log_set(&e->method, s3l_span_cstr(fakes3_request_method(r)));
  fakes3_log_set(&e->bucket, s3l_span_cstr(r->bucket));
  fakes3_log_set(&e->key, s3l_span_cstr(r->key));
  fakes3_log_set(&e->if_match, r->if_match);
  fakes3_log_set(&e->if_none_match, r->if_none_match);
  fakes3_log_set(&e->access_key, r->server->protocol->access_key(r));
  s3l_list_push_back(&s->log, &entry->link);
  s->log_n++;
  s->counters.requests++;
  s->counters.in_flight++;
  trim(s);
  return entry;
}

void fakes3_log_effect(fakes3_request_t* r) {
  r->entry->e.order = ++r->server->counters.effects;
  r->entry->e.effect_ns = fakes3_lease_ns();
}

void fakes3_log_end(fakes3_request_t* r) {
  fakes3_t* s = r->server;
  fakes3_entry_t* e = &r->entry->e;
  e->ended = true;
  e->status = r->reply.status;
  fakes3_log_set(&e->code, s3l_span_cstr(r->reply.code));
  s->counters.in_flight--;
  if (s->log_file != NULL) {
    fakes3_bytes_t line = {NULL, 0, 0};
    fakes3_log_put(&line, e);
    fprintf(s->log_file, "%s\n", fakes3_cstr(&line));
    fflush(s->log_file);
    fakes3_bytes_free(&line);
  }
  r->entry = NULL;
}

static void put_text(fakes3_bytes_t* out, const char* name, const char* value) {
  fakes3_printf(out, ",\"%s\":", name);
  fakes3_put_json(out, value);
}

static void put_time(fakes3_bytes_t* out, const char* name, uint64_t ns) {
  if (ns != 0)
    fakes3_printf(out, ",\"%s\":%llu", name, (unsigned long long)ns);
  else
    fakes3_printf(out, ",\"%s\":null", name);
}

void fakes3_log_put(fakes3_bytes_t* out, const fakes3_entry_t* e) {
  fakes3_printf(out, "{\"seq\":%llu,\"conn\":%llu", (unsigned long long)e->seq,
                (unsigned long long)e->conn);
  put_text(out, "method", e->method);
  put_text(out, "bucket", e->bucket);
  put_text(out, "key", e->key);
  put_text(out, "if_match", e->if_match);
  put_text(out, "if_none_match", e->if_none_match);
  put_text(out, "access_key", e->access_key);
  fakes3_printf(out, ",\"size\":%zu,\"status\":%d", e->size, e->status);
  put_text(out, "code", e->code);
  put_text(out, "etag", e->etag);
  put_text(out, "fault", e->fault);
  fakes3_printf(out, ",\"order\":%llu", (unsigned long long)e->order);
  put_time(out, "arrived_ns", e->arrived_ns);
  put_time(out, "effect_ns", e->effect_ns);
  put_time(out, "replied_ns", e->replied_ns);
  fakes3_printf(out, ",\"ended\":%s,\"client_gone\":%s}", e->ended ? "true" : "false",
                e->client_gone ? "true" : "false");
}

const fakes3_entry_t* fakes3_log_after(const fakes3_t* server, uint64_t seq) {
  /* Most callers ask for the newest entries. */
  const s3l_list_t* l = server->log.prev;
  while (l != &server->log && S3L_CONTAINER_OF(l, const fakes3_log_entry_t, link)->e.seq > seq)
    l = l->prev;
  l = l->next;
  return l != &server->log ? &S3L_CONTAINER_OF(l, const fakes3_log_entry_t, link)->e : NULL;
}

void fakes3_log_free(fakes3_t* s) {
  while (!s3l_list_empty(&s->log))
    free_entry(S3L_CONTAINER_OF(s->log.next, fakes3_log_entry_t, link));
}
