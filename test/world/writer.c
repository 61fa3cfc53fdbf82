/* world/writer.c: see writer.h. */
#include "world/writer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "world/situations.h"

/* One seed in so many has writers: they are a third of its requests. */
#define EVERY      8
#define WITHIN_MS  20000
#define FENCE_WORD "s3lect-fence "

static uint64_t newest; /* epoch of the object since the store was emptied */
static uint64_t emptied;

void world_writer_emptied(void) {
  newest = 0;
  emptied++;
}

void world_writer_saw(const char* body, size_t n) {
  size_t len = strlen(FENCE_WORD);
  uint64_t epoch =
      n > len && memcmp(body, FENCE_WORD, len) == 0 ? strtoull(body + len, NULL, 10) : 0;
  if (epoch == 0)
    world_broken("the fenced object has no fence: %.*s", (int)(n < 60 ? n : 60), body);
  if (epoch < newest)
    world_broken("a writer of epoch %" PRIu64 " wrote after one of %" PRIu64, epoch, newest);
  newest = epoch;
}

static void begin(world_life_t* l, bool get);

static void on_done(s3lect_fenced_t* req, const s3lect_fenced_result_t* r) {
  world_life_t* l = req->data;
  bool same = l->work_emptied == emptied; /* since it began */
  l->working = false;
  world_log("%s: %s under epoch %" PRIu64 ": %s", l->node->name, req->body != NULL ? "put" : "get",
            req->epoch, r->status == 0 ? "done" : s3lect_err_name(r->status));
  if (same && r->status == 0 && newest < req->epoch)
    world_broken("%s: a write under epoch %" PRIu64 " is done, and the object is under %" PRIu64,
                 l->node->name, req->epoch, newest);
  if (same && r->status == S3LECT_EFENCED && newest <= req->epoch)
    world_broken("%s: refused under epoch %" PRIu64 ", and the object is under %" PRIu64,
                 l->node->name, req->epoch, newest);
  if (r->status == S3LECT_EBADFENCE)
    world_broken("%s: a bad fence", l->node->name);
  if (r->status == S3LECT_EFENCED)
    world_meet(WORLD_MET_FENCED);
  if (req->body == NULL && (r->status == 0 || r->status == S3LECT_ENOTFOUND) && !l->closing)
    begin(l, false);
  world_life_go_on(l);
}

static void begin(world_life_t* l, bool get) {
  snprintf(l->work, sizeof(l->work), "%s %u", l->node->name, l->works++ % 3);
  l->fenced.data = l;
  l->fenced.key = WORLD_WORK_KEY;
  l->fenced.epoch = l->work_epoch;
  l->fenced.body = get ? NULL : l->work;
  l->fenced.body_len = get ? 0 : strlen(l->work);
  l->fenced.timeout_ms = WITHIN_MS;
  l->fenced.cb = on_done;
  l->work_emptied = emptied;
  l->working = (get ? s3lect_fenced_get(&l->store, &l->fenced)
                    : s3lect_fenced_put(&l->store, &l->fenced)) == 0;
}

void world_writer_event(world_life_t* l, const s3lect_event_t* event) {
  bool starts = event->kind == S3LECT_EVENT_STARTED_LEADING;
  if (election.seed % EVERY != EVERY - 1 || l->closing || !l->has_store || l->working)
    return;
  if (starts)
    l->work_epoch = event->epoch;
  if (starts ||
      ((event->kind == S3LECT_EVENT_RENEWED || event->kind == S3LECT_EVENT_STOPPED_LEADING) &&
       l->work_epoch != 0))
    begin(l, starts);
}
