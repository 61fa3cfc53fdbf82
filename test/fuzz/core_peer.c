/* fuzz/core_peer.c: see core_world.h. */
#include <stdio.h>

#include "core/record.h"
#include "core_world.h"

static void end_ask(const s3l_peer_result_t* r) {
  bool leading = w.core.leading;
  s3l_ns_t valid_until = w.valid_until;
  if (r->kind == S3L_PEER_LEADING && r->authenticated && r->valid_for_ms >= 0 &&
      r->valid_for_ms < INT64_C(10000000000)) {
    word_t* said = &w.words[w.words_len++ % WORDS_MAX];
    said->epoch = r->record->epoch;
    said->write = r->record->write;
    memcpy(said->incarnation, r->record->incarnation, sizeof(said->incarnation));
    s3l_ns_t left = r->valid_for_ms * S3L_MS;
    said->over = w.now + s3l_lease_outlast(left, w.core.config.drift_ppm);
  }
  fuzz_core_step(&(s3l_event_t){.kind = S3L_EV_PEER, .peer = r});
  if (w.now < valid_until - S3L_STOP_EARLY) /* else time alone ended it */
    FUZZ_CHECK(w.core.leading == leading && w.valid_until == valid_until);
}

/* What the leader in view might say: its record as it is, or a later one. */
void fuzz_core_answer_ask(void) {
  if (!w.asking)
    return;
  unsigned kind = fuzz_u8(&w.in);
  char etag[32];
  s3lect_record_t record;
  s3l_core_record(&w.core, &record);
  snprintf(record.leader_id, sizeof(record.leader_id), "%s", kind & 64 ? w.core.config.id : "b");
  snprintf(record.leader_addr, sizeof(record.leader_addr), "b:1");
  record.write += kind & 3;
  snprintf(etag, sizeof(etag), "\"p%u\"", (unsigned)record.write);
  s3l_peer_result_t r = {.record = &record,
                         .etag = kind & 3 ? etag : w.core.observed.etag,
                         .valid_for_ms = fuzz_u8(&w.in) * 60,
                         .authenticated = (kind & 4) == 0,
                         .held = (kind & 8) != 0};
  if (kind & 16) /* as the Go package does */
    r.valid_for_ms = -1;
  end_ask(&r);
}

void fuzz_core_refuse_ask(void) {
  if (!w.asking)
    return;
  unsigned kind = fuzz_u8(&w.in);
  s3l_peer_result_t r = {.kind = kind & 1 ? S3L_PEER_NOT_LEADING : S3L_PEER_FAILED};
  r.status = kind & 2 ? -104 : 0;
  end_ask(&r);
}

void fuzz_core_answer_ask_with_lies(void) {
  if (!w.asking)
    return;
  char etag[200], body[BODY_MAX];
  s3lect_record_t record;
  unsigned kind = fuzz_u8(&w.in);
  s3l_peer_result_t r = {.record = &record, .etag = fuzz_core_lie_about_etag(etag)};
  s3l_span_t lie = fuzz_core_lie_about_record(body);
  int err = fuzz_core_by_files() ? s3l_record_parse_file(lie, 7, &record)
                                 : s3l_record_parse(lie, &record);
  if (err != 0)
    return;
  r.valid_for_ms = kind & 1 ? (int64_t)(fuzz_uint(&w.in, 8) >> 1) : fuzz_u8(&w.in);
  r.authenticated = (kind & 2) != 0;
  r.held = (kind & 4) != 0;
  end_ask(&r);
}
