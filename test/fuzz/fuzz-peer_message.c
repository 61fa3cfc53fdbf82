/* What peers say: an answer that is taken has a leader and an ETag fit for a header, and comes back
 * the same when it is written and read again, and so does a candidacy; preferences are read from
 * any bytes.
 *
 * Input: a line, the value of a Prefer header; the rest, the body of an answer, or a candidacy. */
#include "core/record.h"
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

/* It stands on one line, as a header field must. */
static void check_candidacy(s3l_span_t text) {
  static char again[S3L_PEER_ANSWER_MAX];
  s3l_peer_candidacy_t c, read;
  if (!s3l_peer_candidacy_parse(text, &c))
    return;
  FUZZ_CHECK(c.record.leader_id[0] != '\0' && c.record.incarnation[0] != '\0');
  FUZZ_CHECK(c.record.write > 0 && c.priority > 0 && c.priority <= S3L_PRIORITY_MAX);
  const s3lect_record_t* r = &c.record;
  size_t most = s3l_record_encode_max(r->leader_id, r->leader_addr, r->successor) +
                s3l_record_value_max(r->value) + S3L_PEER_CANDIDACY_MORE;
  FUZZ_CHECK(most <= sizeof again);
  size_t n = s3l_peer_candidacy_encode(r, c.priority, again, most);
  FUZZ_CHECK(n > 0);
  FUZZ_CHECK(fuzz_is_line(again));
  FUZZ_CHECK(s3l_peer_candidacy_parse((s3l_span_t){again, n}, &read));
  FUZZ_CHECK(read.priority == c.priority && read.record.write == r->write);
  FUZZ_CHECK(read.record.epoch == r->epoch && read.record.released == r->released);
  FUZZ_CHECK(strcmp(read.record.leader_id, r->leader_id) == 0);
  FUZZ_CHECK(strcmp(read.record.incarnation, r->incarnation) == 0);
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
  s3l_span_t rest = fuzz_rest(&in);
  check_candidacy(rest);
  if (s3l_peer_answer_parse(rest, &a) != 0) {
    FUZZ_CHECK(a.record.leader_id[0] == '\0' && a.etag[0] == '\0' && a.valid_for_ms == -1);
    return 0;
  }
  FUZZ_CHECK(a.record.leader_id[0] != '\0' && !a.record.released);
  FUZZ_CHECK(fuzz_is_line(a.etag));
  check_again(&a);
  return 0;
}
