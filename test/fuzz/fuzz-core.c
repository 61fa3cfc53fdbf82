/* The election's core, told anything: honest replies of a store, lost and late ones, and replies of
 * a store that lies, by both protocols; see core_fuzz.h.
 *
 * Input: a digit that chooses the configuration, a byte that seeds the jitter, then events: a
 * letter for its kind and the bytes that the event takes. See `steps`. With S3L_FUZZ_TRACE set,
 * what comes of it is printed. */
#include "core_fuzz.h"
#include "sim/plan.h"
#include "sim/rnd.h"

#define EVENTS_MAX 400

sim_world_t w;
fuzz_input_t in;
bool lied;
static sim_plan_t plan;

static sim_node_t* node(void) {
  return &w.nodes[0];
}

/* The process did not run meanwhile. */
static void pass(s3l_ns_t time) {
  w.t += time;
  oracle_blocked(&w.oracle, 0, w.t + 1);
  sim_step(&w, 0, &(s3l_event_t){.kind = S3L_EV_TICK});
}

static void wait_for_deadline(void) {
  s3l_ns_t at = s3l_core_deadline(&node()->core);
  if (at != S3L_NEVER)
    pass(at - sim_boot(&w, node()) + fuzz_u8(&in) * (s3l_ns_t)(100 * 1000));
}

static void wait_a_while(void) {
  s3l_ns_t ms = fuzz_u8(&in);
  pass((ms < 128 ? ms : (ms - 127) * (ms - 127)) * S3L_MS);
}

static void start(void) {
  if (node()->process == SIM_UP && node()->core.phase != S3L_PHASE_STOPPED)
    return;
  node()->rnd = sim_rnd(fuzz_u8(&in), node()->starts++); /* and an incarnation of its own */
  sim_begin(&w, 0);
}

static void resign(void) {
  if (node()->core.announced)
    sim_step(&w, 0, &(s3l_event_t){.kind = S3L_EV_RESIGN});
}

static void transfer(void) {
  if (node()->core.announced)
    sim_step(&w, 0, &(s3l_event_t){.kind = S3L_EV_TRANSFER, .successor = "b"});
}

static void stop(void) {
  s3lect_reason_t reason = fuzz_u8(&in) & 1 ? S3LECT_REASON_CLOSED : S3LECT_REASON_STOPPED;
  sim_step(&w, 0, &(s3l_event_t){.kind = S3L_EV_STOP, .reason = reason});
}

static void acknowledge(void) {
  uint64_t epoch = node()->core.unacknowledged;
  /* Mostly of the last leadership, sometimes of the one before. */
  bool earlier = epoch > 0 && (fuzz_u8(&in) & 3) == 0;
  if (!earlier)
    oracle_acknowledged(&w.oracle, 0);
  sim_step(&w, 0, &(s3l_event_t){.kind = S3L_EV_ACK, .epoch = epoch - earlier});
}

static void (*const steps[])(void) = {
    start,                       /* A, byte: seed */
    wait_for_deadline,           /* B, byte: how late */
    core_answer,                 /* C */
    wait_a_while,                /* D, byte: how long */
    core_lose_reply,             /* E, and for a write a byte: whether it landed */
    core_answer_with_lies,       /* F, status, outcome, etag, record ..., times ..., files ... */
    core_write_of_another,       /* G, byte: what kind, byte: write number */
    resign,                      /* H */
    stop,                        /* I, byte: reason */
    acknowledge,                 /* J */
    core_remove_object,          /* K */
    core_answer_probe,           /* L, byte: what kind, byte: validity left in 60 ms */
    core_refuse_probe,           /* M, byte: how */
    core_answer_probe_with_lies, /* N, byte: what kind, etag, record ..., validity ... */
    transfer,                    /* O */
    core_gc_done,                /* P, byte: how it ended */
    core_land_late,              /* Q */
};

static void configure(unsigned choice) {
  s3l_core_config_t* c = &plan.nodes[0].config;
  if ((choice & 1) == 0)
    c->addr = "";
  if (choice & 2) { /* as short as it may be */
    c->leader_timeout_ms = 1500;
    c->renew_interval_ms = c->frequent_interval_ms = 100;
    c->infrequent_interval_ms = 300;
    c->request_timeout_ms = 100;
    c->peer_interval_ms = 300;
    c->peer_timeout_ms = 200;
  }
  if (choice & 4)
    c->stop_ack_ms = 2000;
  if (choice & 8)
    c->grace_period_ms = 700;
  c->store_clock = (choice & 16) != 0;
  c->no_release = plan.keep_epochs = (choice & 32) != 0;
  c->peer_mode = (choice & 64) != 0;
  plan.epochs = (choice & 128) != 0;
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  in = (fuzz_input_t){data, size};
  sim_plan_plain(&plan, 1, INT64_MAX);
  plan.latency = S3L_MS;
  plan.troubles = SIM_BIT(DELETE) | SIM_BIT(CORRUPT); /* by the fuzzer: the oracle knows */
  configure(fuzz_choice(&in, 256));
  sim_world_init(&w, &plan);
  sim_log_t log = {.lines = getenv("S3L_FUZZ_TRACE") != NULL ? stderr : NULL};
  w.log = &log;
  w.by_hand = true;
  w.saw_step = core_checks_step;
  sim_world_begin(&w);
  node()->weather.stuck = true; /* no request ends by itself */
  lied = false;
  core_checks_begin();
  start();
  core_checks_oracle();
  for (int i = 0; i < EVENTS_MAX && in.n > 0; i++) {
    steps[(unsigned)(uint8_t)(fuzz_u8(&in) - 'A') % (sizeof(steps) / sizeof(steps[0]))]();
    core_checks_oracle();
  }
  return 0;
}
