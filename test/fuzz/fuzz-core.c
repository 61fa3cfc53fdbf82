/* The election's core, told anything: honest replies of a store, lost and late ones, and replies of
 * a store that lies, by both protocols; see core_world.h.
 *
 * Input: a digit that chooses the configuration, a byte that seeds the jitter, then events: a
 * letter for its kind and the bytes that the event takes. See `steps`. */
#include <stdio.h>

#include "core_world.h"
#include "lib/core_config.h"

#define EVENTS_MAX 400

world_t w;

static void tick(void) {
  fuzz_core_step(&(s3l_event_t){.kind = S3L_EV_TICK});
}

static void wait_for_deadline(void) {
  s3l_ns_t at = s3l_core_deadline(&w.core);
  if (at == S3L_NEVER)
    return;
  s3l_ns_t before = w.now;
  w.now = at + fuzz_u8(&w.in) * (s3l_ns_t)(100 * 1000);
  w.wall_ms += (w.now - before) / S3L_MS;
  tick();
}

static void wait_a_while(void) {
  s3l_ns_t ms = fuzz_u8(&w.in);
  ms = ms < 128 ? ms : (ms - 127) * (ms - 127);
  w.now += ms * S3L_MS;
  w.wall_ms += ms;
  tick();
}

static void transfer(void) {
  if (w.announced)
    fuzz_core_step(&(s3l_event_t){.kind = S3L_EV_TRANSFER, .successor = "b"});
}

static void start(void) {
  if (w.core.phase != S3L_PHASE_STOPPED)
    return;
  snprintf(w.incarnation, sizeof(w.incarnation), "%032x", 0x100u + ++w.starts);
  w.last_write = 0;
  fuzz_core_step(
      &(s3l_event_t){.kind = S3L_EV_START, .incarnation = w.incarnation, .seed = fuzz_u8(&w.in)});
}

static void resign(void) {
  if (w.announced)
    fuzz_core_step(&(s3l_event_t){.kind = S3L_EV_RESIGN});
}

static void stop(void) {
  s3lect_reason_t reason = fuzz_u8(&w.in) & 1 ? S3LECT_REASON_CLOSED : S3LECT_REASON_STOPPED;
  fuzz_core_step(&(s3l_event_t){.kind = S3L_EV_STOP, .reason = reason});
}

static void acknowledge(void) {
  uint64_t epoch = w.core.unacknowledged;
  /* Mostly of the last leadership, sometimes of the one before. */
  epoch -= epoch > 0 && (fuzz_u8(&w.in) & 3) == 0;
  fuzz_core_step(&(s3l_event_t){.kind = S3L_EV_ACK, .epoch = epoch});
}

static void (*const steps[])(void) = {
    start,                          /* A, byte: seed */
    wait_for_deadline,              /* B, byte: how late */
    fuzz_core_answer,               /* C */
    wait_a_while,                   /* D, byte: how long */
    fuzz_core_lose_reply,           /* E, and for a write a byte: whether it landed */
    fuzz_core_answer_with_lies,     /* F, status, outcome, etag, record ..., times ..., files ... */
    fuzz_core_write_of_another,     /* G, byte: what kind, byte: write number */
    resign,                         /* H */
    stop,                           /* I, byte: reason */
    acknowledge,                    /* J */
    fuzz_core_remove_object,        /* K */
    fuzz_core_answer_ask,           /* L, byte: what kind, byte: validity left in 60 ms */
    fuzz_core_refuse_ask,           /* M, byte: how */
    fuzz_core_answer_ask_with_lies, /* N, byte: what kind, etag, record ..., validity ... */
    transfer,                       /* O */
    fuzz_core_swept,                /* P, byte: how it ended */
};

static s3l_core_config_t configure(unsigned choice) {
  s3l_core_config_t c = s3l_test_core_config("a");
  if (choice & 1)
    c.addr = "10.0.0.1:80";
  if (choice & 2) { /* as short as it may be */
    c.leader_timeout_ms = 1500;
    c.renew_interval_ms = c.frequent_interval_ms = 100;
    c.infrequent_interval_ms = 300;
    c.request_timeout_ms = 100;
    c.peer_interval_ms = 300;
    c.peer_timeout_ms = 200;
  }
  if (choice & 4)
    c.stop_ack_ms = 2000;
  if (choice & 8)
    c.grace_period_ms = 700;
  if (choice & 16)
    c.store_clock = true;
  if (choice & 32)
    c.no_release = true;
  if (choice & 64)
    c.peer_mode = true;
  if (choice & 128) {
    c.protocol = &s3l_epoch_files;
    c.epochs = &w.epochs;
    w.epochs.keep = (choice & 32) != 0;
  }
  return c;
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  memset(&w, 0, sizeof(w));
  w.in = (fuzz_input_t){data, size};
  w.now = S3L_SECOND;
  w.wall_ms = INT64_C(1730025045000);
  s3l_core_config_t config = configure(fuzz_choice(&w.in, 256));
  s3l_core_init(&w.core, &config);
  start();
  for (int i = 0; i < EVENTS_MAX && w.in.n > 0; i++)
    steps[(unsigned)(uint8_t)(fuzz_u8(&w.in) - 'A') % (sizeof(steps) / sizeof(steps[0]))]();
  return 0;
}
