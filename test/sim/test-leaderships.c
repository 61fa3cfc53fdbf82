/* A thousand leaderships by epoch files, in virtual time: how many files stay, and what listing
 * them costs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/core.h"
#include "core/record.h"
#include "lib/core_config.h"
#include "sim/files.h"

#define LEADERSHIPS 1000
#define WAY         (20 * S3L_MS)

typedef struct world_s {
  sim_store_t store;
  sim_files_t files;
  s3l_core_t core;
  s3l_epochs_t epochs;
  s3l_ns_t now;
  s3l_effects_t fx;

  bool busy;
  bool sweeps;
  s3l_effect_t request; /* under way, and the body of a write */
  char etag[S3LECT_ETAG_SIZE];
  s3lect_record_t record;
  uint64_t swept;
  s3l_ns_t done_at, swept_at;
  uint64_t listed_last;

  unsigned started, lists;
  uint64_t epoch;
  size_t files_most;
} world_t;

static world_t w; /* large */

static void step(const s3l_event_t* event) {
  s3l_event_t ev = *event;
  ev.wall_ms = 1700000000000 + w.now / S3L_MS;
  s3l_core_step(&w.core, w.now, &ev, &w.fx);
  for (size_t i = 0; i < w.fx.len; i++) {
    const s3l_effect_t* e = &w.fx.at[i];
    if (e->kind == S3L_DO_READ || e->kind == S3L_DO_WRITE || e->kind == S3L_DO_LIST) {
      assert_false(w.busy);
      w.busy = true;
      w.request = *e;
      snprintf(w.etag, sizeof w.etag, "%s", e->etag);
      w.record = w.fx.record;
      w.done_at = w.now + WAY;
      w.lists += e->kind == S3L_DO_LIST;
    } else if (e->kind == S3L_DO_GC) {
      assert_false(w.sweeps);
      w.sweeps = true;
      w.swept = e->file;
      w.swept_at = w.now + WAY;
    } else if (e->kind == S3L_DO_NOTIFY && e->note == S3LECT_EVENT_STARTED_LEADING) {
      assert_true(e->epoch > w.epoch);
      w.epoch = e->epoch;
      w.started++;
    }
  }
}

static void request_done(void) {
  const s3l_effect_t* e = &w.request;
  s3l_listing_t listing;
  char body[SIM_FILE_BODY_MAX];
  s3lect_store_result_t r = {.outcome = S3LECT_SETTLED,
                             .store_time_ms = sim_store_date(&w.store, w.now)};
  memset(&listing, 0, sizeof listing);
  w.busy = false;
  if (e->kind == S3L_DO_LIST) {
    sim_files_list(&w.files, w.now, e->more ? w.listed_last : e->file, &listing, &w.listed_last);
  } else if (e->kind == S3L_DO_WRITE) {
    size_t len = s3l_record_encode_file(&w.record, body, sizeof body);
    r.status =
        sim_files_put(&w.files, &w.store, w.now, e->file, e->condition, w.etag, false, body, len)
            .status;
  } else {
    sim_reply_t reply = sim_files_get(&w.files, &w.store, w.now, e->file, w.etag);
    r.status = reply.status;
    r.modified_ms = reply.modified_ms;
  }
  const sim_file_t* file = sim_files_find(&w.files, e->file);
  if (e->kind != S3L_DO_LIST && file != NULL) {
    r.etag = file->etag;
    r.body = file->body;
    r.body_len = file->body_len;
  }
  step(&(s3l_event_t){
      .kind = S3L_EV_DONE, .result = &r, .listing = e->kind == S3L_DO_LIST ? &listing : NULL});
}

static void sweep_done(void) {
  s3lect_store_result_t r = {.outcome = S3LECT_SETTLED};
  w.sweeps = false;
  sim_files_delete(&w.files, w.now, w.swept);
  step(&(s3l_event_t){.kind = S3L_EV_GC_DONE, .result = &r});
}

/* Whatever comes next. */
static void go_on(void) {
  s3l_ns_t at = s3l_core_deadline(&w.core);
  bool done = w.busy && w.done_at <= at;
  at = done ? w.done_at : at;
  bool swept = w.sweeps && w.swept_at <= at;
  w.now = swept ? w.swept_at : at;
  if (swept)
    sweep_done();
  else if (done)
    request_done();
  else
    step(&(s3l_event_t){.kind = S3L_EV_TICK});
  size_t files = sim_files_count(&w.files);
  w.files_most = files > w.files_most ? files : w.files_most;
}

static void begin(bool keep) {
  memset(&w, 0, sizeof w);
  w.now = 1000 * S3L_SECOND;
  w.store.unix_ms = 1700000000000;
  w.files.page = 100;
  s3l_core_config_t config = s3l_test_core_config("a");
  config.protocol = &s3l_epoch_files;
  config.epochs = &w.epochs;
  w.epochs.keep = keep;
  s3l_core_init(&w.core, &config);
  step(&(s3l_event_t){
      .kind = S3L_EV_START, .incarnation = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", .seed = 1});
}

/* Leads so often, each time for a while; how many lists the last leadership took. */
static unsigned lead(unsigned times, s3l_ns_t how_long) {
  unsigned lists = 0;
  for (unsigned n = 1; n <= times; n++) {
    lists = w.lists;
    while (w.started < n)
      go_on();
    for (s3l_ns_t until = w.now + how_long; w.now < until;)
      go_on();
    lists = w.lists - lists;
    step(&(s3l_event_t){.kind = S3L_EV_RESIGN});
  }
  return lists;
}

static void test_few_files_stay(void** state) {
  (void)state;
  begin(false);
  unsigned at_first = lead(10, 30 * S3L_SECOND);
  begin(false);
  unsigned at_last = lead(LEADERSHIPS, 30 * S3L_SECOND);
  printf("at most %zu files; %u lists for a leadership, at first %u\n", w.files_most, at_last,
         at_first);
  assert_true(w.files_most <= 8);
  assert_true(at_last <= at_first + 1);
}

/* Leaderships too short for anything to be old: it is made good later. */
static void test_many_short_ones(void** state) {
  (void)state;
  begin(false);
  (void)lead(200, S3L_SECOND);
  (void)lead(201, 600 * S3L_SECOND);
  assert_true(sim_files_count(&w.files) <= 3);
}

/* All are kept, and a leader lists from its own file on: still one page. */
static void test_kept(void** state) {
  (void)state;
  begin(true);
  unsigned at_last = lead(500, 30 * S3L_SECOND);
  assert_true(sim_files_count(&w.files) >= 500);
  assert_true(at_last <= 20);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_few_files_stay),
      cmocka_unit_test(test_many_short_ones),
      cmocka_unit_test(test_kept),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
