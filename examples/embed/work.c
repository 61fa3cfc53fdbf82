#include "work.h"

#include <inttypes.h>
#include <stdio.h>

#include "register.h"

static void begin_job(work_t* work);

static void on_timer(uv_timer_t* timer) {
  begin_job(timer->data);
}

/* On a thread of the pool. Of the elector it uses the calls that are marked "any thread". */
static void do_job(uv_work_t* req) {
  work_t* work = req->data;
  work->epoch =
      s3lect_elector_epoch(work->elector); /* first, then ask: never newer than the answer */
  if (!s3lect_elector_is_leader(work->elector)) {
    work->result = UV_ECANCELED;
    return;
  }
  printf("writing: epoch %" PRIu64 "\n", work->epoch);
  work->result =
      register_add(work->register_path, work->epoch, work->id, &work->value, &work->seen);
}

static void after_job(uv_work_t* req, int status) {
  work_t* work = req->data;
  work->job_runs = false;
  if (status == 0)
    status = work->result;
  if (status == 0)
    printf("accepted: epoch %" PRIu64 ", value %" PRIu64 "\n", work->epoch, work->value);
  else if (status == UV_EACCES)
    printf("refused: epoch %" PRIu64 ", the register has seen %" PRIu64 "\n", work->epoch,
           work->seen);
  else if (status != UV_ECANCELED)
    printf("failed: %s\n", uv_strerror(status));
  if (work->running)
    (void)uv_timer_start(&work->timer, on_timer, work->every_ms, 0);
  else if (work->on_idle != NULL)
    work->on_idle(work);
}

static void begin_job(work_t* work) {
  if (work->job_runs)
    return; /* the last leadership's; after_job goes on */
  work->job.data = work;
  int err = uv_queue_work(work->timer.loop, &work->job, do_job, after_job);
  work->job_runs = err == 0;
  if (err != 0)
    printf("failed: %s\n", uv_strerror(err));
}

int work_init(work_t* work, uv_loop_t* loop) {
  work->timer.data = work;
  return uv_timer_init(loop, &work->timer);
}

void work_start(work_t* work) {
  work->running = true;
  begin_job(work);
}

void work_stop(work_t* work) {
  work->running = false;
  (void)uv_timer_stop(&work->timer);
  if (!work->job_runs && work->on_idle != NULL)
    work->on_idle(work);
}

void work_close(work_t* work) {
  uv_close((uv_handle_t*)&work->timer, NULL);
}
