/* fuzz/core_replies.c: see core_fuzz.h. */
#include "core/record.h"
#include "core_fuzz.h"
#include "s3lect/errno.h"

static s3l_core_t* core(void) {
  return &w.nodes[0].core;
}

/* NULL: none is under way. */
static sim_request_t* request(void) {
  uint16_t i = w.nodes[0].request;
  return i != SIM_NO_REQUEST ? &w.requests[i] : NULL;
}

static unsigned index_of(const sim_request_t* r) {
  return (unsigned)(r - w.requests);
}

/* ---- The store ---- */

void core_answer(void) {
  sim_request_t* r = request();
  if (r == NULL)
    return;
  if (r->in_limbo)
    sim_on_arrival(&w, index_of(r));
  sim_on_reply(&w, index_of(r));
}

void core_lose_reply(void) {
  sim_request_t* r = request();
  if (r == NULL)
    return;
  if (r->is_write && r->in_limbo && fuzz_u8(&in) & 1)
    sim_on_arrival(&w, index_of(r));
  sim_on_broken(&w, index_of(r));
}

/* What was given up comes to the store all the same. */
void core_land_late(void) {
  for (unsigned i = 0; i < SIM_REQUESTS_MAX; i++)
    if (w.requests[i].in_limbo && w.requests[i].done && !w.requests[i].is_gc)
      sim_on_arrival(&w, i);
}

static s3l_span_t encode(const s3lect_record_t* r, char body[SIM_BODY_MAX]) {
  return (s3l_span_t){body, core()->config.protocol->encode(r, body, SIM_BODY_MAX)};
}

void core_write_of_another(void) {
  s3lect_record_t r;
  char body[SIM_BODY_MAX];
  memset(&r, 0, sizeof(r));
  unsigned kind = fuzz_u8(&in);
  snprintf(r.leader_id, sizeof(r.leader_id), "%s", kind & 1 ? "b" : core()->config.id);
  snprintf(r.incarnation, sizeof(r.incarnation), "%032x", kind & 2 ? 0xbu : 0xcu);
  r.epoch = core()->epoch_seen + (kind & 4 ? 1 : 0);
  r.released = (kind & 8) != 0;
  r.leader_timeout_ms = kind & 16 ? 20000 : 0;
  r.last_updated_ms = sim_wall_ms(&w, &w.nodes[0]);
  r.write = fuzz_u8(&in);
  if ((kind & 32) == 0)
    snprintf(r.leader_addr, sizeof(r.leader_addr), "%s", kind & 64 ? "b:2" : "b:1");
  if (kind & 128)
    snprintf(r.successor, sizeof(r.successor), "%s", kind & 64 ? core()->config.id : "c");
  uint64_t number = w.plan->epochs ? r.epoch % S3L_EPOCHS_MAX : 0;
  if (w.plan->epochs && number == 0)
    number = 1;
  s3l_span_t text = encode(&r, body);
  FUZZ_CHECK(text.n > 0);
  sim_store_set(&w.store, w.t, number, text.p, text.n);
  oracle_write_t write = {.node = -1,
                          .epoch = r.epoch,
                          .released = r.released,
                          .leader_id = r.leader_id,
                          /* A release without an epoch is Go's, which names nobody. */
                          .successor = r.epoch > 0 ? r.successor : ""};
  oracle_write_landed(&w.oracle, w.t, &write);
}

/* What counts: the lockfile, or the highest epoch file. */
void core_remove_object(void) {
  const sim_object_t* newest = sim_store_newest(&w.store);
  if (newest != NULL)
    sim_store_delete(&w.store, w.t, newest->number);
  oracle_deleted(&w.oracle);
}

void core_gc_done(void) {
  static const int statuses[] = {0, 0, S3LECT_ENOTFOUND, S3LECT_EDENIED, S3LECT_ESERVER};
  if (w.nodes[0].gc == SIM_NO_REQUEST)
    return;
  sim_request_t* r = &w.requests[w.nodes[0].gc];
  s3lect_store_result_t result = {
      .status = statuses[fuzz_u8(&in) % (sizeof(statuses) / sizeof(statuses[0]))]};
  if (result.status == 0)
    sim_store_delete(&w.store, w.t, r->file);
  r->in_limbo = false;
  sim_done(&w, r, &result, NULL);
}

/* ---- Lies ---- */

static const char* lie_about_etag(char buf[200]) {
  unsigned kind = fuzz_u8(&in);
  switch (kind % 6) {
  case 0:
    return NULL;
  case 1:
    return "";
  case 2:
    snprintf(buf, 200, "%s", core()->observed.etag);
    return buf;
  case 3:
    snprintf(buf, 200, "%0*u", 120 + (int)(kind / 16), 7u); /* some are too long */
    return buf;
  default:
    snprintf(buf, 200, "\"e%u\"", kind);
    return buf;
  }
}

static s3l_span_t lie_about_record(char body[SIM_BODY_MAX]) {
  const s3l_core_t* c = core();
  s3lect_record_t r;
  memset(&r, 0, sizeof(r));
  unsigned kind = fuzz_u8(&in);
  if ((kind & 7) == 7)
    return fuzz_bytes(&in, fuzz_u8(&in));
  snprintf(r.leader_id, sizeof(r.leader_id), "%s", kind & 1 ? c->config.id : "b");
  if (kind & 2)
    snprintf(r.incarnation, sizeof(r.incarnation), "%s", c->incarnation);
  r.epoch = kind & 4 ? fuzz_uint(&in, 8) >> 1 : c->epoch_seen + fuzz_u8(&in) % 3 - 1;
  if (r.epoch > UINT64_MAX >> 1)
    r.epoch = 0;
  r.write = kind & 8 ? fuzz_u8(&in) : c->write;
  r.released = (kind & 16) != 0;
  r.leader_timeout_ms = kind & 32 ? (uint32_t)fuzz_uint(&in, 4) % 2419200000u : 0;
  r.renew_interval_ms = kind & 64 ? (uint32_t)fuzz_uint(&in, 4) % 2419200000u : 0;
  if (kind & 128)
    snprintf(r.leader_addr, sizeof(r.leader_addr), "b:1");
  return encode(&r, body);
}

static void lie_about_files(s3l_listing_t* listing) {
  memset(listing, 0, sizeof(*listing));
  unsigned kind = fuzz_u8(&in);
  uint64_t number = kind & 1 ? fuzz_uint(&in, 8) : core()->epoch_seen + fuzz_u8(&in) % 3;
  for (unsigned i = 0; i < (kind >> 2) % 4; i++)
    s3l_listing_add(listing, (number + i) % (S3L_EPOCHS_MAX + 1),
                    sim_wall_ms(&w, &w.nodes[0]) - 1000 * fuzz_u8(&in));
  listing->truncated = (kind & 2) != 0;
}

void core_answer_with_lies(void) {
  static const int statuses[] = {0,
                                 S3LECT_ENOTFOUND,
                                 S3LECT_ENOTMODIFIED,
                                 S3LECT_EPRECONDITION,
                                 S3LECT_ECONFLICT,
                                 S3LECT_EDENIED,
                                 S3LECT_ETHROTTLED,
                                 S3LECT_ESERVER,
                                 S3LECT_ETOOBIG,
                                 S3LECT_EETAG,
                                 S3LECT_EUNSUPPORTED,
                                 -110};
  char etag[200];
  char body[SIM_BODY_MAX];
  s3l_listing_t listing;
  sim_request_t* under_way = request();
  if (under_way == NULL)
    return;
  lied = true;
  s3lect_store_result_t r = {.status =
                                 statuses[fuzz_u8(&in) % (sizeof(statuses) / sizeof(statuses[0]))],
                             .outcome = fuzz_u8(&in) % 3};
  r.etag = lie_about_etag(etag);
  s3l_span_t lie = lie_about_record(body);
  r.body = lie.p;
  r.body_len = lie.n;
  unsigned times = fuzz_u8(&in);
  if (times & 1)
    r.store_time_ms = (int64_t)fuzz_uint(&in, 8);
  if (times & 2)
    r.modified_ms = (int64_t)fuzz_uint(&in, 8);
  if (times & 4)
    r.retry_after_ms = (uint32_t)fuzz_uint(&in, 4);
  if (times & 8)
    r.message = "what the store says";
  bool listed = under_way->is_list && r.status == 0;
  if (listed)
    lie_about_files(&listing);
  sim_done(&w, under_way, &r, listed ? &listing : NULL);
}

/* ---- The leader in view, or whoever answers in its place ---- */

static void end_probe(const s3l_peer_result_t* r) {
  const s3l_core_t* c = core();
  bool leading = c->leading;
  s3l_ns_t valid_until = s3l_core_valid_until(c);
  lied = true;
  core_checks_hear(r);
  w.nodes[0].ask.active = false;
  sim_step(&w, 0, &(s3l_event_t){.kind = S3L_EV_PEER, .peer = r});
  if (sim_boot(&w, &w.nodes[0]) < valid_until - S3L_STOP_EARLY) /* else time alone ended it */
    FUZZ_CHECK(c->leading == leading && s3l_core_valid_until(c) == valid_until);
}

/* Its record as it is, or a later one. */
void core_answer_probe(void) {
  if (!w.nodes[0].ask.active)
    return;
  unsigned kind = fuzz_u8(&in);
  char etag[32];
  s3lect_record_t record;
  s3l_core_record(core(), &record);
  snprintf(record.leader_id, sizeof(record.leader_id), "%s", kind & 64 ? core()->config.id : "b");
  snprintf(record.leader_addr, sizeof(record.leader_addr), "b:1");
  record.write += kind & 3;
  snprintf(etag, sizeof(etag), "\"p%u\"", (unsigned)record.write);
  s3l_peer_result_t r = {.record = &record,
                         .etag = kind & 3 ? etag : core()->observed.etag,
                         .valid_for_ms = fuzz_u8(&in) * 60,
                         .authenticated = (kind & 4) == 0,
                         .held = (kind & 8) != 0};
  if (kind & 16) /* as the Go package does */
    r.valid_for_ms = -1;
  end_probe(&r);
}

void core_refuse_probe(void) {
  if (!w.nodes[0].ask.active)
    return;
  unsigned kind = fuzz_u8(&in);
  s3l_peer_result_t r = {.kind = kind & 1 ? S3L_PEER_NOT_LEADING : S3L_PEER_FAILED};
  r.status = kind & 2 ? -104 : 0;
  end_probe(&r);
}

void core_answer_probe_with_lies(void) {
  if (!w.nodes[0].ask.active)
    return;
  char etag[200], body[SIM_BODY_MAX];
  s3lect_record_t record;
  unsigned kind = fuzz_u8(&in);
  s3l_peer_result_t r = {.record = &record, .etag = lie_about_etag(etag)};
  s3l_span_t lie = lie_about_record(body);
  int err =
      w.plan->epochs ? s3l_record_parse_file(lie, 7, &record) : s3l_record_parse(lie, &record);
  if (err != 0)
    return;
  r.valid_for_ms = kind & 1 ? (int64_t)(fuzz_uint(&in, 8) >> 1) : fuzz_u8(&in);
  r.authenticated = (kind & 2) != 0;
  r.held = (kind & 4) != 0;
  end_probe(&r);
}
