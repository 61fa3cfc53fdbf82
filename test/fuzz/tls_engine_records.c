/* Records after the handshake: both sides write, update their keys and close, and somebody in
 * between changes, drops, repeats, swaps, cuts and forges records.
 *
 * Input: steps, each a side (0, 1) and one of the choices below with its arguments. What a side
 * shows is always the beginning of what the other one wrote; the end is told only after all of it;
 * and where nobody interfered, all of it arrives. */
#include "tls_engine_records.h"

#include <uv.h>

#include "net/tls_engine.h"
#include "s3lect/errno.h"

#define WIRE_MAX    131072
#define WRITE_MAX   20000
#define STEPS_MAX   64
#define UPDATES_MAX 16 /* fewer than S3L_TLS_QUIET_MAX: each makes two records */
#define RECORD_HEAD 5

enum { WRITE = 0, UPDATE, SHUT, DELIVER, FLIP, DROP, TWICE, SWAP, FORGE, PIECE, STEPS };

typedef struct side_s {
  s3l_tls_engine_t tls;
  size_t written, shown;
  unsigned updates;
  bool shut;  /* has told that it writes no more */
  bool over;  /* has failed */
  bool ended; /* has learnt that the other one writes no more */
  size_t n;   /* ciphertext on its way to the other side */
  char wire[WIRE_MAX];
} side_t;

typedef struct pair_s {
  side_t side[2];
  bool touched; /* somebody has interfered */
} pair_t;

static char byte_at(unsigned side, size_t i) {
  return (char)(i * 7 + i / 256 + side * 13);
}

static void collect(side_t* from) {
  size_t n;
  while (from->n < WIRE_MAX &&
         (n = s3l_tls_take(&from->tls, from->wire + from->n, WIRE_MAX - from->n)) > 0)
    from->n += n;
}

static void check_failure(const pair_t* p, side_t* s, ssize_t rc) {
  FUZZ_CHECK(p->touched && rc <= S3LECT_ETLS && rc >= S3LECT_ETLSEXPIRED);
  FUZZ_CHECK(s->tls.failed && s->tls.why[0] != '\0' && fuzz_is_line(s->tls.why));
  s->over = true;
}

static void read_all(pair_t* p, unsigned to) {
  char plain[3000];
  side_t *s = &p->side[to], *from = &p->side[1 - to];
  ssize_t n;
  while ((n = s3l_tls_read(&s->tls, plain, sizeof(plain))) > 0) {
    FUZZ_CHECK(!s->ended && s->shown + (size_t)n <= from->written);
    for (size_t i = 0; i < (size_t)n; i++)
      FUZZ_CHECK(plain[i] == byte_at(1 - to, s->shown + i));
    s->shown += (size_t)n;
  }
  if (n == UV_EOF) {
    FUZZ_CHECK(from->shut && s->shown == from->written && s->tls.ended);
    s->ended = true;
  } else if (n < 0) {
    check_failure(p, s, n);
  }
}

/* Gives `n` bytes of what `from` has sent to the other side. */
static void deliver(pair_t* p, unsigned from, const char* data, size_t n) {
  side_t* to = &p->side[1 - from];
  if (to->over || n == 0)
    return;
  FUZZ_CHECK(s3l_tls_feed(&to->tls, data, n) == 0);
  read_all(p, 1 - from);
  collect(to); /* an answer to a key update, or an alert */
}

static void deliver_first(pair_t* p, unsigned from, size_t n) {
  side_t* s = &p->side[from];
  deliver(p, from, s->wire, n);
  s->n -= n;
  memmove(s->wire, s->wire + n, s->n);
}

/* The length of the record at `at`, or of what is there of it. */
static size_t record_at(const side_t* s, size_t at) {
  if (s->n - at < RECORD_HEAD)
    return s->n - at;
  size_t n = RECORD_HEAD + ((size_t)(uint8_t)s->wire[at + 3] << 8 | (uint8_t)s->wire[at + 4]);
  return n < s->n - at ? n : s->n - at;
}

static void write_some(side_t* s, unsigned number, size_t n) {
  static char text[WRITE_MAX];
  if (s->shut || s->over || s->n + n > WIRE_MAX / 2)
    return;
  for (size_t i = 0; i < n; i++)
    text[i] = byte_at(number, s->written + i);
  FUZZ_CHECK(n == 0 || s3l_tls_write(&s->tls, text, n) == 0);
  s->written += n;
  collect(s);
}

static void update_keys(side_t* s) {
  if (s->shut || s->over || s->updates++ >= UPDATES_MAX)
    return;
  FUZZ_CHECK(SSL_key_update(s->tls.ssl, SSL_KEY_UPDATE_REQUESTED) == 1);
  FUZZ_CHECK(SSL_do_handshake(s->tls.ssl) == 1);
  collect(s);
}

static void shut(side_t* s) {
  if (s->shut || s->over)
    return;
  s->shut = true;
  s3l_tls_shutdown(&s->tls);
  collect(s);
}

/* Changes the first records that are on their way. */
static void interfere(pair_t* p, unsigned from, unsigned how, fuzz_input_t* in) {
  static char copy[WIRE_MAX];
  side_t* s = &p->side[from];
  size_t first = record_at(s, 0);
  size_t second = record_at(s, first);
  size_t at = (size_t)fuzz_uint(in, 2);
  if (first == 0 || (how == SWAP && second == 0))
    return;
  p->touched = true;
  memcpy(copy, s->wire, first);
  if (how == FLIP) {
    s->wire[at % first] = (char)(s->wire[at % first] ^ (1 + fuzz_u8(in) % 255));
  } else if (how == TWICE) {
    deliver(p, from, copy, first);
  } else {
    deliver(p, from, s->wire + first, how == SWAP ? second : 0);
    s->n -= first + (how == SWAP ? second : 0);
    memmove(s->wire, s->wire + first + (how == SWAP ? second : 0), s->n);
    deliver(p, from, copy, how == SWAP ? first : 0);
  }
}

static void step(pair_t* p, fuzz_input_t* in) {
  unsigned from = fuzz_choice(in, 2);
  unsigned what = fuzz_choice(in, STEPS);
  side_t* s = &p->side[from];
  if (what == WRITE) {
    write_some(s, from, (size_t)fuzz_uint(in, 2) % WRITE_MAX);
  } else if (what == UPDATE) {
    update_keys(s);
  } else if (what == SHUT) {
    shut(s);
  } else if (what == DELIVER) {
    deliver_first(p, from, s->n);
  } else if (what == PIECE) {
    size_t n = (size_t)fuzz_uint(in, 2);
    deliver_first(p, from, n < s->n ? n : s->n);
  } else if (what == FORGE) {
    s3l_span_t forged = fuzz_bytes(in, fuzz_u8(in));
    p->touched |= forged.n > 0;
    deliver(p, from, forged.p, forged.n);
  } else {
    interfere(p, from, what, in);
  }
}

static void shake_hands(pair_t* p) {
  for (int round = 0; round < 8; round++) {
    for (unsigned from = 0; from <= 1; from++) {
      side_t *s = &p->side[from], *to = &p->side[1 - from];
      FUZZ_CHECK(s->tls.ready || s3l_tls_handshake(&s->tls) >= 0);
      collect(s);
      FUZZ_CHECK(s->n == 0 || s3l_tls_feed(&to->tls, s->wire, s->n) == 0);
      s->n = 0;
    }
  }
  FUZZ_CHECK(p->side[0].tls.ready && p->side[1].tls.ready);
}

/* What is still on its way arrives. */
static void finish(pair_t* p) {
  for (unsigned i = 0; i <= 1; i++)
    shut(&p->side[i]);
  for (unsigned i = 0; i < 6; i++)
    deliver_first(p, i % 2, p->side[i % 2].n);
  for (unsigned i = 0; i <= 1 && !p->touched; i++)
    FUZZ_CHECK(p->side[i].ended && p->side[i].shown == p->side[1 - i].written);
}

void fuzz_tls_records(s3l_tls_context_t* client, s3l_tls_context_t* server, fuzz_input_t* in) {
  static pair_t p;
  for (unsigned i = 0; i <= 1; i++) {
    side_t* s = &p.side[i];
    s->written = s->shown = s->n = 0;
    s->updates = 0;
    s->shut = s->over = s->ended = false;
  }
  p.touched = false;
  FUZZ_CHECK(s3l_tls_engine_init(&p.side[0].tls, client, "localhost") == 0);
  FUZZ_CHECK(s3l_tls_engine_init(&p.side[1].tls, server, NULL) == 0);
  shake_hands(&p);
  for (int i = 0; i < STEPS_MAX && in->n > 0; i++)
    step(&p, in);
  finish(&p);
  s3l_tls_engine_free(&p.side[0].tls);
  s3l_tls_engine_free(&p.side[1].tls);
}
