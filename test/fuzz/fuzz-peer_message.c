/* What peers say: an answer that is taken has a leader and an ETag fit for a header, and comes back
 * the same when it is written and read again; preferences are read from any bytes.
 *
 * Input: a line, the value of a Prefer header; the rest, the body of an answer. */
#include "fuzz.h"
#include "peer/message.h"
#include "s3lect/peer.h"

static void check_again(const s3l_peer_answer_t* a) {
  static char text[S3L_PEER_ANSWER_MAX];
  s3l_peer_answer_t again;
  uint64_t ms = a->valid_for_ms >= 0 ? (uint64_t)a->valid_for_ms : 0;
  size_t n = s3l_peer_answer_encode(&a->record, a->etag, ms, text, S3LECT_PEER_BODY_MAX);
  FUZZ_CHECK(n > 0);
  FUZZ_CHECK(s3l_peer_answer_parse((s3l_span_t){text, n}, &again) == 0);
  FUZZ_CHECK(strcmp(a->etag, again.etag) == 0 && again.valid_for_ms == (int64_t)ms);
  FUZZ_CHECK(strcmp(a->record.leader_id, again.record.leader_id) == 0);
  FUZZ_CHECK(again.record.claim || strcmp(a->record.value, again.record.value) == 0);
  FUZZ_CHECK(a->record.epoch == again.record.epoch && a->record.write == again.record.write);
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz_input_t in = {data, size};
  s3l_peer_answer_t a;
  s3l_span_t value = fuzz_line(&in);
  const s3l_http_header_t fields[] = {{S3L_SPAN("Prefer"), value},
                                      {S3L_SPAN("Preference-Applied"), value},
                                      {S3L_SPAN("prefer"), S3L_SPAN("wait=7")}};
  uint32_t wait = s3l_peer_prefer_wait(fields, 2);
  FUZZ_CHECK(wait <= S3L_PEER_WAIT_MAX_S);
  FUZZ_CHECK(wait == 0 || s3l_peer_wait_applied(fields, 2));
  /* A field behind it counts if it says nothing of waiting, whatever quotes it leaves open. */
  bool says = s3l_peer_wait_applied(fields, 2);
  FUZZ_CHECK(s3l_peer_prefer_wait(fields, 3) == (says ? wait : 7));
  if (s3l_peer_answer_parse(fuzz_rest(&in), &a) != 0) {
    FUZZ_CHECK(a.record.leader_id[0] == '\0' && a.etag[0] == '\0' && a.valid_for_ms == -1);
    return 0;
  }
  FUZZ_CHECK(a.record.leader_id[0] != '\0' && !a.record.released);
  FUZZ_CHECK(fuzz_is_line(a.etag));
  check_again(&a);
  return 0;
}
