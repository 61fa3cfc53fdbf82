/* The lockfile's record: what is parsed, written and parsed again is equal; what this library may
 * have to write can be written and read.
 *
 * Input: a lockfile. The same bytes also make up a record of our own. */
#include "core/record.h"
#include "fuzz.h"
#include "util/timefmt.h"
#include "util/utf8.h"

static bool is_shown(int64_t ms) {
  char text[S3L_TIME_RFC3339_SIZE];
  return s3l_time_format_rfc3339(ms, text);
}

/* A time that an offset moved out of the years 0..9999 is written as the epoch: it is display. */
static void check_time(int64_t before, int64_t after) {
  FUZZ_CHECK(after == (is_shown(before) ? before : 0));
}

static void check_equal(const s3lect_record_t* a, const s3lect_record_t* b) {
  FUZZ_CHECK(strcmp(a->leader_id, b->leader_id) == 0);
  FUZZ_CHECK(strcmp(a->leader_addr, b->leader_addr) == 0);
  FUZZ_CHECK(strcmp(a->incarnation, b->incarnation) == 0);
  FUZZ_CHECK(strcmp(a->successor, b->successor) == 0);
  /* A record that does not count leaderships is written with none, and is a claim then. */
  FUZZ_CHECK(b->claim || strcmp(a->value, b->value) == 0);
  FUZZ_CHECK(a->epoch == b->epoch && a->write == b->write && a->transitions == b->transitions);
  FUZZ_CHECK(a->leader_timeout_ms == b->leader_timeout_ms);
  FUZZ_CHECK(a->renew_interval_ms == b->renew_interval_ms && a->released == b->released);
  check_time(a->last_updated_ms, b->last_updated_ms);
  check_time(a->acquired_ms, b->acquired_ms);
}

static void check_fields(const s3lect_record_t* r) {
  FUZZ_CHECK(memchr(r->leader_id, '\0', sizeof(r->leader_id)) != NULL);
  FUZZ_CHECK(memchr(r->leader_addr, '\0', sizeof(r->leader_addr)) != NULL);
  FUZZ_CHECK(r->released || r->leader_id[0] != '\0');
  FUZZ_CHECK(s3l_utf8_is_valid(s3l_span_cstr(r->leader_id)));
  FUZZ_CHECK(memchr(r->value, '\0', sizeof(r->value)) != NULL);
  FUZZ_CHECK(s3l_utf8_is_valid(s3l_span_cstr(r->value)));
  FUZZ_CHECK(r->value[0] == '\0' || (!r->released && !r->claim));
  FUZZ_CHECK(strlen(r->incarnation) == 0 || strlen(r->incarnation) == 32);
  FUZZ_CHECK(r->epoch <= UINT64_MAX >> 1); /* it must stay possible to go on counting */
}

/* Writes into just as much room as was promised to suffice. */
static char* encode(const s3lect_record_t* r, size_t* len) {
  size_t max = s3l_record_encode_max(r->leader_id, r->leader_addr, r->successor) +
               s3l_record_value_max(r->value);
  char* text = malloc(max);
  FUZZ_CHECK(text != NULL);
  *len = s3l_record_encode(r, text, max);
  FUZZ_CHECK(*len > 0 && *len <= max);
  FUZZ_CHECK(s3l_record_encode(r, text, *len) == *len);
  FUZZ_CHECK(s3l_record_encode(r, text, *len - 1) == 0);
  FUZZ_CHECK(s3l_record_encode(r, text, *len) == *len);
  return text;
}

static void check_parsed(s3l_span_t body) {
  s3lect_record_t record, again;
  size_t len;
  int err = s3l_record_parse(body, &record);
  FUZZ_CHECK(err <= 0);
  check_fields(err == 0 ? &record : &(s3lect_record_t){.released = 1});
  if (err != 0) {
    static const s3lect_record_t zero;
    FUZZ_CHECK(memcmp(&record, &zero, sizeof(zero)) == 0);
    return;
  }
  char* text = encode(&record, &len);
  FUZZ_CHECK(s3l_record_parse((s3l_span_t){text, len}, &again) == 0);
  free(text);
  check_equal(&record, &again);
}

/* The options allow any valid UTF-8 as ID, address and value, and any wall clock. */
static void check_own(fuzz_input_t in) {
  s3lect_record_t record = {.incarnation = "0123456789abcdef0123456789abcdef"};
  s3lect_record_t again;
  size_t len;
  record.epoch = fuzz_uint(&in, 8) >> 1;
  record.write = fuzz_uint(&in, 8);
  record.last_updated_ms = (int64_t)fuzz_uint(&in, 8);
  record.acquired_ms = (int64_t)fuzz_uint(&in, 6);
  record.transitions = fuzz_uint(&in, 7);
  record.leader_timeout_ms = (uint32_t)fuzz_uint(&in, 3);
  record.renew_interval_ms = (uint32_t)fuzz_uint(&in, 3);
  s3l_span_t id = fuzz_bytes(&in, fuzz_u8(&in));
  s3l_span_t addr = fuzz_bytes(&in, 263);
  (void)s3l_span_copy(id, record.leader_id, sizeof(record.leader_id));
  (void)s3l_span_copy(addr, record.leader_addr, sizeof(record.leader_addr));
  if (record.transitions > 0) /* nobody publishes by a claim */
    (void)s3l_span_copy(fuzz_bytes(&in, sizeof(record.value) - 1), record.value,
                        sizeof(record.value));
  char* text = encode(&record, &len);
  bool good = record.leader_id[0] != '\0' && s3l_utf8_is_valid(s3l_span_cstr(record.leader_id)) &&
              s3l_utf8_is_valid(s3l_span_cstr(record.leader_addr)) &&
              s3l_utf8_is_valid(s3l_span_cstr(record.value)) &&
              record.last_updated_ms != -62135596800000;
  if (good) {
    FUZZ_CHECK(s3l_record_parse((s3l_span_t){text, len}, &again) == 0);
    check_equal(&record, &again);
  }
  free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz_input_t in = {data, size};
  check_parsed(fuzz_rest(&in));
  check_own(in);
  return 0;
}
