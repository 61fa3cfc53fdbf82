/* The header of the PROXY protocol, version 2, as examples/tcp-proxy reads and writes it, and the
 * answer to it.
 *
 * Input: what a client sends first. */
#include <stdbool.h>

#include "fuzz.h"
#include "header.h"

/* What a header says must survive writing and reading. */
static void check_again(const header_t* header) {
  uint8_t out[HEADER_MAX];
  header_t again;
  size_t n = header_write(header, out);
  FUZZ_CHECK(n <= HEADER_MAX && header_length(out) == n);
  FUZZ_CHECK(header_read(out, n, &again));
  FUZZ_CHECK(again.asks == header->asks && again.from_peer == header->from_peer);
  FUZZ_CHECK(again.epoch == header->epoch && again.source.len == header->source.len);
  FUZZ_CHECK(memcmp(&again.source.sa, &header->source.sa, sizeof(again.source.sa)) == 0);
  FUZZ_CHECK(memcmp(&again.destination.sa, &header->destination.sa, sizeof(again.destination.sa)) ==
             0);
  FUZZ_CHECK(header_look(out, n) == (header->from_peer ? FIRST_BYTES_PEERS : FIRST_BYTES_PASS));
  for (size_t cut = 0; cut < n; cut++) {
    FUZZ_CHECK(header_look(out, cut) == FIRST_BYTES_MORE);
    FUZZ_CHECK(!header_read(out, cut, &again));
  }
}

/* More bytes never change what fewer have told. */
static void check_pieces(const uint8_t* data, size_t size) {
  size_t n = size < HEADER_MAX + 4 ? size : HEADER_MAX + 4;
  first_bytes_t last = FIRST_BYTES_MORE;
  for (size_t cut = 0; cut <= n; cut++) {
    uint8_t* copy = malloc(cut + 1); /* sanitizers see reads behind its end */
    FUZZ_CHECK(copy != NULL);
    copy = cut == 0 ? copy : memcpy(copy, data, cut);
    first_bytes_t now = header_look(copy, cut);
    FUZZ_CHECK(last == FIRST_BYTES_MORE || now == last);
    free(copy);
    last = now;
  }
  FUZZ_CHECK(n < HEADER_MAX || last != FIRST_BYTES_MORE); /* it never waits for more than that */
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  header_t header;
  answer_t answer;
  check_pieces(data, size);
  if (size >= HEADER_PREFIX_SIZE) {
    size_t n = header_length(data);
    FUZZ_CHECK(n == 0 || (n >= HEADER_PREFIX_SIZE && n <= HEADER_MAX));
    if (n > 0 && n <= size && header_read(data, n, &header))
      check_again(&header);
  }
  if (size >= ANSWER_SIZE && answer_read(data, &answer)) {
    uint8_t out[ANSWER_SIZE];
    FUZZ_CHECK(answer.status >= ANSWER_LEADS && answer.status <= ANSWER_NO_BACKEND);
    answer_write(&answer, out);
    FUZZ_CHECK(memcmp(out, data, ANSWER_SIZE) == 0);
  }
  return 0;
}
