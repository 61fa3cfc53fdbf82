/* store/file/store.c: a store in a directory, for processes that share a disk.
 *
 * Each request becomes a job with copies of all that it needs, since the job may outlast the
 * request: if the disk hangs, the request ends in time, and its job later. disk.h says what a job
 * does.
 *
 * Jobs that write run one after the other, since they need the directory's lock; a job that finds
 * the lock taken by another process tries again a little later. Reads run beside them. A job whose
 * request has ended runs once more if it left a temporary file.
 *
 * States of a job
 *   QUEUED    waits for an earlier job that writes
 *   PAUSING   found the lock taken; its retry deadline is set
 *   WORKING   is on libuv's thread pool */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "loop/loop.h"
#include "store/file/disk.h"
#include "store/file/open.h"
#include "util/backoff.h"
#include "util/error.h"
#include "util/hex.h"
#include "util/list.h"
#include "util/mem.h"

#define RETRY_FIRST_MS 1
#define RETRY_MAX_MS   16
#define DIRECTORY_SIZE 4096

typedef struct job_s job_t;

typedef struct file_s {
  s3lect_store_t* store;
  int dir;
  char* directory; /* its absolute name */
  bool cleaned_up; /* a put has been asked to remove old temporary files */
  s3l_loop_t* loop;
  s3l_task_t left;    /* the runtime */
  s3l_list_t jobs;    /* all of them */
  s3l_list_t writers; /* QUEUED ones */
  job_t* writer;      /* PAUSING or WORKING */
  bool closing;
  s3lect_store_close_cb close_cb;
} file_t;

typedef struct state_s {
  job_t* job; /* NULL: the request has ended */
} state_t;

S3L_STORE_REQ_STATE_FITS(state_t);

typedef enum { QUEUED, PAUSING, WORKING } job_state_t;

struct job_s {
  s3l_list_t link;
  s3l_list_t queue;
  file_t* file;
  s3lect_store_req_t* req; /* NULL: it has ended already */
  job_state_t state;
  s3l_disk_t disk;
  uv_work_t work;
  s3l_deadline_t deadline; /* of the request */
  s3l_deadline_t retry;
  uint32_t retries;
  int error; /* what the deadline ends the request with */
};

static bool is_write(const job_t* job) {
  return job->disk.req.op == S3LECT_OP_PUT || job->disk.req.op == S3LECT_OP_DEL;
}

/* ---- The end of a request, and of a job ---- */

static void on_work(uv_work_t* work);
static void on_worked(uv_work_t* work, int status);

static void answer(job_t* job, const s3lect_store_result_t* r) {
  s3lect_store_req_t* req = job->req;
  S3L_STORE_REQ_STATE(req, state_t)->job = NULL;
  job->req = NULL;
  s3l_loop_deadline_clear(job->file->loop, &job->deadline);
  req->cb(req, r);
}

static void on_left(s3l_task_t* task) {
  file_t* f = S3L_CONTAINER_OF(task, file_t, left);
  s3lect_store_t* store = f->store;
  s3lect_store_close_cb cb = f->close_cb;
  (void)close(f->dir);
  s3l_free(f->directory);
  s3l_free(f);
  store->internal = NULL;
  if (cb != NULL)
    cb(store);
}

static void end_if_closed(file_t* f) {
  if (f->closing && s3l_list_empty(&f->jobs))
    s3l_loop_leave(f->loop, &f->left);
}

static void start(job_t* job) {
  job->state = WORKING;
  int rc = uv_queue_work(job->file->store->loop, &job->work, on_work, on_worked);
  S3L_ASSERT(rc == 0); /* it fails only without a function to run */
  (void)rc;
}

static void next_writer(file_t* f) {
  if (f->closing || f->writer != NULL || s3l_list_empty(&f->writers))
    return;
  f->writer = S3L_CONTAINER_OF(f->writers.next, job_t, queue);
  s3l_list_remove(&f->writer->queue);
  start(f->writer);
}

/* The request has ended: so does its job, after it has removed its temporary file. */
static void end_job(job_t* job) {
  file_t* f = job->file;
  if (job->disk.has_temp) {
    start(job);
    return;
  }
  if (f->writer == job)
    f->writer = NULL;
  s3l_list_remove(&job->link);
  s3l_free(job);
  next_writer(f);
  end_if_closed(f);
}

/* ---- Work ---- */

static void on_work(uv_work_t* work) {
  s3l_disk_run(&S3L_CONTAINER_OF(work, job_t, work)->disk);
}

static void on_worked(uv_work_t* work, int status) {
  job_t* job = S3L_CONTAINER_OF(work, job_t, work);
  (void)status; /* work is cancelled only for a request that has ended */
  if (job->req != NULL && job->disk.busy) {
    job->state = PAUSING;
    s3l_loop_deadline_set(
        job->file->loop, &job->retry,
        s3l_clock_in_ms(s3l_backoff_ms(RETRY_FIRST_MS, RETRY_MAX_MS, ++job->retries, NULL)));
    return;
  }
  if (job->req != NULL)
    answer(job, &job->disk.result);
  end_job(job);
}

static void on_retry(s3l_deadline_t* deadline) {
  start(S3L_CONTAINER_OF(deadline, job_t, retry));
}

/* The request ends now, and its job as soon as possible. */
static void on_deadline(s3l_deadline_t* deadline) {
  job_t* job = S3L_CONTAINER_OF(deadline, job_t, deadline);
  file_t* f = job->file;
  char message[S3L_FILE_MESSAGE_SIZE];
  bool running = job->state == WORKING && uv_cancel((uv_req_t*)&job->work) != 0;
  bool working = job->state == WORKING;
  s3lect_store_result_t r = {0};
  s3l_store_settle(&r, job->error);
  if (running && is_write(job))
    r.outcome = S3LECT_UNCERTAIN;
  if (job->error == UV_ETIMEDOUT && job->state != PAUSING) {
    (void)snprintf(message, sizeof(message), "%.400s: the file system did not answer in time",
                   f->directory);
    r.message = message;
  } else if (job->error == UV_ETIMEDOUT) {
    r.message = job->disk.message;
  }
  atomic_store(&job->disk.abandoned, true);
  if (job->state == QUEUED)
    s3l_list_remove(&job->queue);
  s3l_loop_deadline_clear(f->loop, &job->retry);
  answer(job, &r);
  if (!working) /* else on_worked follows */
    end_job(job);
}

/* ---- Requests ---- */

static size_t room(const char* s) {
  return s != NULL ? strlen(s) + 1 : 0;
}

static void copy_string(char** at, const char** s) {
  size_t n = room(*s);
  if (n > 0)
    *s = memcpy(*at, *s, n);
  *at += n;
}

static void point_to_names(s3l_disk_t* d, s3l_file_names_t* names, size_t n) {
  for (size_t i = 0; i < n; i++)
    d->entries[i] = (s3lect_store_entry_t){.key = names[i].key, .etag = names[i].etag};
}

/* One block for the job, a listing's entries and their names, the strings, and a body. */
static job_t* new_job(const s3lect_store_req_t* req) {
  s3lect_store_req_t copy = *req;
  bool compares = req->condition == S3LECT_IF_MATCH || req->condition == S3LECT_IF_CHANGED;
  copy.body_max = req->op == S3LECT_OP_GET ? s3l_store_body_max(req) : 0;
  copy.body_len = req->op == S3LECT_OP_PUT ? req->body_len : 0;
  copy.etag = compares ? req->etag : NULL;
  copy.after = req->op == S3LECT_OP_LIST ? req->after : NULL;
  size_t n = req->op == S3LECT_OP_LIST ? (size_t)req->max_keys + 1 : 0;
  size_t lists = n * (sizeof(s3lect_store_entry_t) + sizeof(s3l_file_names_t));
  size_t strings = room(copy.key) + room(copy.etag) + room(copy.after);
  job_t* job = s3l_calloc(1, sizeof(*job) + lists + strings + copy.body_len + copy.body_max);
  if (job == NULL)
    return NULL;
  s3l_disk_t* d = &job->disk;
  d->entries = (s3lect_store_entry_t*)(job + 1);
  point_to_names(d, (s3l_file_names_t*)(d->entries + n), n);
  d->buf = (char*)(job + 1) + lists;
  copy_string(&d->buf, &copy.key);
  copy_string(&d->buf, &copy.etag);
  copy_string(&d->buf, &copy.after);
  if (copy.body_len > 0)
    copy.body = memcpy(d->buf, req->body, copy.body_len);
  d->req = copy;
  atomic_init(&d->abandoned, false);
  return job;
}

static int make_id(char id[S3L_FILE_ID_SIZE]) {
  unsigned char bytes[16];
  if (s3l_loop_random(bytes, sizeof(bytes)) != 0)
    return UV_EIO;
  s3l_hex_encode(bytes, sizeof(bytes), id);
  id[S3L_FILE_ID_SIZE - 1] = '\0';
  return 0;
}

static int submit(s3lect_store_t* store, s3lect_store_req_t* req) {
  file_t* f = store->internal;
  bool puts = req->op == S3LECT_OP_PUT;
  if (f->closing)
    return UV_ECANCELED;
  job_t* job = new_job(req);
  if (job == NULL)
    return UV_ENOMEM;
  int err = puts ? make_id(job->disk.id) : 0;
  if (err != 0) {
    s3l_free(job);
    return err;
  }
  job->file = f;
  job->req = req;
  job->disk.dir = f->dir;
  job->disk.directory = f->directory;
  job->disk.cleans_up = puts && !f->cleaned_up;
  f->cleaned_up = f->cleaned_up || puts;
  job->error = UV_ETIMEDOUT;
  s3l_deadline_init(&job->deadline, on_deadline);
  s3l_deadline_init(&job->retry, on_retry);
  s3l_loop_deadline_set(f->loop, &job->deadline, s3l_clock_in_ms(req->timeout_ms));
  s3l_list_push_back(&f->jobs, &job->link);
  S3L_STORE_REQ_STATE(req, state_t)->job = job;
  if (is_write(job)) {
    job->state = QUEUED;
    s3l_list_push_back(&f->writers, &job->queue);
    next_writer(f);
  } else {
    start(job);
  }
  return 0;
}

/* ---- The store's vtable ---- */

/* Ends the request from the loop, by its deadline. */
static void cancel_job(job_t* job) {
  job->error = UV_ECANCELED;
  s3l_loop_deadline_set(job->file->loop, &job->deadline, s3l_clock_in_ms(0));
}

static void file_cancel(s3lect_store_t* store, s3lect_store_req_t* req) {
  job_t* job = S3L_STORE_REQ_STATE(req, state_t)->job;
  (void)store;
  if (job != NULL)
    cancel_job(job);
}

static void file_close(s3lect_store_t* store, s3lect_store_close_cb cb) {
  file_t* f = store->internal;
  f->closing = true;
  f->close_cb = cb;
  for (s3l_list_t* l = f->jobs.next; l != &f->jobs; l = l->next) {
    job_t* job = S3L_CONTAINER_OF(l, job_t, link);
    if (job->req != NULL)
      cancel_job(job);
  }
  end_if_closed(f);
}

static const s3lect_store_ops_t file_ops = {
    .version = S3LECT_STORE_VERSION,
    .get = submit,
    .put = submit,
    .del = submit,
    .list = submit,
    .cancel = file_cancel,
    .close = file_close,
};

int s3lect_store_file_check(const char* directory, s3lect_error_t* error) {
  s3l_error_clear(error);
  int fd = s3l_file_open_store(directory, error);
  if (fd >= 0)
    (void)close(fd);
  return fd < 0 ? fd : 0;
}

/* The process may change its working directory later. */
static int absolute(const char* directory, char** out) {
  char name[DIRECTORY_SIZE] = "";
  bool relative = directory[0] != '/';
  if (relative && getcwd(name, sizeof(name)) == NULL)
    return -errno;
  size_t len = strlen(name);
  int n = snprintf(name + len, sizeof(name) - len, "%s%s", len > 0 ? "/" : "", directory);
  if (n < 0 || (size_t)n >= sizeof(name) - len)
    return UV_ENAMETOOLONG;
  *out = s3l_strdup(name);
  return *out != NULL ? 0 : UV_ENOMEM;
}

int s3lect_store_file_init(uv_loop_t* loop, s3lect_store_t* store, const char* directory,
                           s3lect_error_t* error) {
  s3l_error_clear(error);
  file_t* f = s3l_calloc(1, sizeof(*f));
  if (f == NULL)
    return s3l_error_end(error, UV_ENOMEM);
  f->dir = s3l_file_open_store(directory, error);
  int err = f->dir < 0 ? f->dir : absolute(directory, &f->directory);
  if (err == 0)
    err = s3l_loop_join(loop, &f->loop);
  if (err != 0) {
    if (f->dir >= 0)
      (void)close(f->dir);
    s3l_free(f->directory);
    s3l_free(f);
    return s3l_error_end(error, err);
  }
  f->store = store;
  s3l_task_init(&f->left, on_left);
  s3l_list_init(&f->jobs);
  s3l_list_init(&f->writers);
  store->loop = loop;
  store->ops = &file_ops;
  store->internal = f;
  return 0;
}
