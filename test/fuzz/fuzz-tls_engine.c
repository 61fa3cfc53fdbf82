/* The client side of TLS against a server, or somebody in between, that sends anything.
 *
 * Input: 'G' and then bytes that are fed to the client as they are, in pieces; or 'M' and then
 * edits of what a genuine server sends, one for each of its flights; or 'R' and then what happens
 * after a handshake that nobody has touched (tls_engine_records.c). Whatever is done to the
 * ciphertext, an engine must never show plaintext that the other one did not write. */
#include <stdbool.h>

#include <uv.h>

#include "fuzz.h"
#include "lib/certs.h"
#include "lib/tls_files.h"
#include "net/tls_engine.h"
#include "s3lect/errno.h"
#include "tls_engine_records.h"

#define FLIGHT_MAX  20000
#define ROUNDS_MAX  64
#define MESSAGE_LEN 700

static s3l_certs_t certs;
static s3l_tls_context_t* client_context;
static s3l_tls_context_t* server_context;
static char message[MESSAGE_LEN];

static void tear_down(void) {
  s3l_tls_context_free(client_context);
  s3l_tls_context_free(server_context);
  s3l_certs_remove(&certs);
}

static void set_up(void) {
  if (client_context != NULL)
    return;
  FUZZ_CHECK(s3l_certs_make(&certs) == 0);
  FUZZ_CHECK(s3l_tls_context_client(certs.ca, &client_context, NULL) == 0);
  FUZZ_CHECK(s3l_tls_context_server(certs.good, certs.key, &server_context, NULL) == 0);
  for (size_t i = 0; i < sizeof(message); i++)
    message[i] = (char)('a' + i % 26);
  FUZZ_CHECK(atexit(tear_down) == 0);
}

/* ---- The client ---- */

typedef struct client_s {
  s3l_tls_engine_t tls;
  size_t shown; /* bytes of plaintext */
  bool over;
} client_t;

static void check_error(client_t* c, int rc) {
  FUZZ_CHECK(rc <= S3LECT_ETLS && rc >= S3LECT_ETLSEXPIRED);
  FUZZ_CHECK(c->tls.failed && memchr(c->tls.why, '\0', sizeof(c->tls.why)) != NULL);
  FUZZ_CHECK(c->tls.why[0] != '\0' && fuzz_is_line(c->tls.why));
  c->over = true;
}

static void client_reads(client_t* c) {
  char plain[300];
  ssize_t n;
  while ((n = s3l_tls_read(&c->tls, plain, sizeof(plain))) > 0) {
    FUZZ_CHECK((size_t)n <= sizeof(plain) && c->shown + (size_t)n <= sizeof(message));
    FUZZ_CHECK(memcmp(plain, message + c->shown, (size_t)n) == 0);
    c->shown += (size_t)n;
  }
  if (n == UV_EOF)
    c->over = true;
  else if (n < 0)
    check_error(c, (int)n);
}

/* Takes all that there is to send, but keeps only what fits. */
static size_t drain(s3l_tls_engine_t* e, char* out, size_t cap) {
  size_t len = 0;
  size_t n;
  while (len < cap && (n = s3l_tls_take(e, out + len, cap - len)) > 0)
    len += n;
  return len;
}

static void client_takes(client_t* c, const char* data, size_t n) {
  if (c->over || n == 0)
    return;
  FUZZ_CHECK(s3l_tls_feed(&c->tls, data, n) == 0);
  if (!c->tls.ready) {
    int rc = s3l_tls_handshake(&c->tls);
    if (rc < 0)
      check_error(c, rc);
    if (rc != S3L_TLS_READY)
      return;
  }
  client_reads(c);
}

/* ---- Garbage ---- */

static void feed_garbage(client_t* c, fuzz_input_t* in) {
  static char out[FLIGHT_MAX];
  while (in->n > 0 && !c->over) {
    s3l_span_t piece = fuzz_bytes(in, 1 + fuzz_u8(in));
    client_takes(c, piece.p, piece.n);
    (void)drain(&c->tls, out, sizeof(out));
  }
  FUZZ_CHECK(!c->tls.ready && c->shown == 0);
}

/* ---- A server whose flights are edited ---- */

enum { PASS = 0, FLIP, CUT, TWICE, INSERT, PIECES, SWAP, EDITS };

/* Edits a flight and delivers it. True if it was changed. */
static bool deliver_edited(client_t* c, fuzz_input_t* in, char* flight, size_t n) {
  unsigned edit = in->n > 0 ? fuzz_choice(in, EDITS) : PASS;
  size_t at = edit == PASS || edit == TWICE ? 0 : (size_t)fuzz_uint(in, 2) % n;
  switch (edit) {
  case FLIP:
    flight[at] = (char)(flight[at] ^ (1 + fuzz_u8(in) % 255));
    break;
  case CUT:
    n = at;
    break;
  case TWICE:
    client_takes(c, flight, n);
    break;
  case INSERT: {
    s3l_span_t extra = fuzz_bytes(in, 1 + fuzz_u8(in) % 64);
    client_takes(c, flight, at);
    client_takes(c, extra.p, extra.n);
    client_takes(c, flight + at, n - at);
    return extra.n > 0;
  }
  case PIECES:
    for (size_t i = 0; i < n; i++)
      client_takes(c, flight + i, 1);
    return false;
  case SWAP: /* two halves in the wrong order */
    client_takes(c, flight + at, n - at);
    client_takes(c, flight, at);
    return at > 0;
  default:
    break;
  }
  client_takes(c, flight, n);
  return edit != PASS;
}

static void run_server(client_t* c, fuzz_input_t* in) {
  static char flight[FLIGHT_MAX];
  s3l_tls_engine_t server;
  bool changed = false;
  bool written = false;
  size_t n;
  FUZZ_CHECK(s3l_tls_engine_init(&server, server_context, NULL) == 0);
  for (int round = 0; round < ROUNDS_MAX && !c->over; round++) {
    n = drain(&c->tls, flight, sizeof(flight));
    if (n > 0 && s3l_tls_feed(&server, flight, n) != 0)
      break;
    if (!server.ready && s3l_tls_handshake(&server) < 0)
      break;
    if (server.ready && !written && c->tls.ready) {
      written = true;
      FUZZ_CHECK(s3l_tls_write(&server, message, sizeof(message)) == 0);
      s3l_tls_shutdown(&server);
    }
    n = drain(&server, flight, sizeof(flight));
    if (n == 0 && written)
      break;
    if (n > 0)
      changed |= deliver_edited(c, in, flight, n);
  }
  if (!changed)
    FUZZ_CHECK(c->tls.ready && c->tls.ended && c->shown == sizeof(message));
  s3l_tls_engine_free(&server);
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz_input_t in = {data, size};
  client_t c = {.over = false};
  set_up();
  s3l_tls_context_forget(client_context);
  const char mode = (char)fuzz_u8(&in);
  if (mode == 'R') {
    fuzz_tls_records(client_context, server_context, &in);
    return 0;
  }
  FUZZ_CHECK(s3l_tls_engine_init(&c.tls, client_context, "localhost") == 0);
  FUZZ_CHECK(s3l_tls_handshake(&c.tls) == S3L_TLS_MORE);
  if (mode == 'G')
    feed_garbage(&c, &in);
  else
    run_server(&c, &in);
  s3l_tls_engine_free(&c.tls);
  return 0;
}
