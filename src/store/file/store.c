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
  uint32_t pause_ms;
  int error; /* what the deadline ends the request with */
};

static bool is_write(const job_t* job) {
  return job->disk.op == S3L_STORE_PUT || job->disk.op == S3L_STORE_DEL;
}

/* ---- The end of a request, and of a job ---- */

/* Entries as the interface has them are built over the disk's own, which are larger. */
static s3lect_store_entry_t* show_entries(const s3l_disk_t* d) {
  s3lect_store_entry_t* e = s3l_calloc(d->entries_len, sizeof(*e));
  for (size_t i = 0; e != NULL && i < d->entries_len; i++)
    e[i] = (s3lect_store_entry_t){d->entries[i].key, d->entries[i].etag, d->entries[i].body_len,
                                  d->entries[i].modified_ms};
  return e;
}

static void answer(job_t* job, const s3lect_store_result_t* r) {
  s3lect_store_req_t* req = job->req;
  S3L_STORE_REQ_STATE(req, state_t)->job = NULL;
  job->req = NULL;
  s3l_loop_deadline_clear(job->file->loop, &job->deadline);
  req->cb(req, r);
}

static void answer_result(job_t* job) {
  const s3l_disk_t* d = &job->disk;
  s3lect_store_entry_t* entries = NULL;
  s3lect_store_result_t r = s3l_store_result(d->status, d->outcome);
  bool shows = d->status == 0 || d->status == S3LECT_ENOTMODIFIED || d->status == S3LECT_ETOOBIG;
  r.store_time_ms = d->now_ms;
  r.message = d->message[0] != '\0' ? d->message : NULL;
  if (shows && (d->op == S3L_STORE_GET || d->op == S3L_STORE_PUT)) {
    r.etag = d->found;
    r.modified_ms = d->modified_ms;
  }
  if (d->status == 0 && d->op == S3L_STORE_GET) {
    r.body = d->found_len > 0 ? d->buf : "";
    r.body_len = d->found_len;
  }
  if (d->status == 0 && d->op == S3L_STORE_LIST && d->entries_len > 0) {
    entries = show_entries(d);
    if (entries == NULL)
      r = s3l_store_result(UV_ENOMEM, S3LECT_NOT_APPLIED);
    r.entries = entries;
    r.entries_len = entries != NULL ? d->entries_len : 0;
  }
  r.truncated = d->truncated;
  answer(job, &r);
  s3l_free(entries);
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

static void free_job(job_t* job) {
  s3l_loop_deadline_clear(job->file->loop, &job->retry);
  s3l_list_remove(&job->link);
  s3l_free(job->disk.entries);
  s3l_free(job);
}

/* ---- Work ---- */

static void next_writer(file_t* f);
static void start(job_t* job);

static void pause_job(job_t* job) {
  job->state = PAUSING;
  job->pause_ms = job->pause_ms == 0 ? RETRY_FIRST_MS : 2 * job->pause_ms;
  if (job->pause_ms > RETRY_MAX_MS)
    job->pause_ms = RETRY_MAX_MS;
  s3l_loop_deadline_set(job->file->loop, &job->retry, s3l_clock_in_ms(job->pause_ms));
}

static void on_worked(uv_work_t* work, int status) {
  job_t* job = S3L_CONTAINER_OF(work, job_t, work);
  file_t* f = job->file;
  if (status == 0 && job->disk.busy && job->req != NULL) {
    pause_job(job);
    return;
  }
  if (job->disk.has_temp) { /* the request ended before a run that could remove it */
    start(job);
    return;
  }
  if (job->req != NULL)
    answer_result(job); /* the request was not ended early, so the work was not cancelled */
  if (f->writer == job)
    f->writer = NULL;
  free_job(job);
  next_writer(f);
  end_if_closed(f);
}

static void on_work(uv_work_t* work) {
  s3l_disk_run(&S3L_CONTAINER_OF(work, job_t, work)->disk);
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
  s3lect_store_result_t r = s3l_store_result(
      job->error, running && is_write(job) ? S3LECT_UNCERTAIN : S3LECT_NOT_APPLIED);
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
  if (working)
    return; /* on_worked follows */
  if (job->disk.has_temp) {
    start(job);
    return;
  }
  if (f->writer == job)
    f->writer = NULL;
  free_job(job);
  next_writer(f);
  end_if_closed(f);
}

/* ---- Requests ---- */

static const char* copy_string(char** at, const char* s) {
  if (s == NULL)
    return NULL;
  size_t n = strlen(s) + 1;
  char* to = *at;
  memcpy(to, s, n);
  *at += n;
  return to;
}

static size_t room(const char* s) {
  return s != NULL ? strlen(s) + 1 : 0;
}

/* One block for the job, its strings and buffers, and one for a listing. */
static job_t* new_job(const s3lect_store_req_t* req, s3l_store_op_t op) {
  size_t buffer = op == S3L_STORE_GET ? s3l_store_body_max(req) : 0;
  size_t body = op == S3L_STORE_PUT ? req->body_len : 0;
  const char* etag = req->condition != S3LECT_ALWAYS ? req->etag : NULL;
  const char* after = op == S3L_STORE_LIST ? req->after : NULL;
  job_t* job =
      s3l_calloc(1, sizeof(*job) + room(req->key) + room(etag) + room(after) + body + buffer);
  if (job == NULL)
    return NULL;
  s3l_disk_t* d = &job->disk;
  if (op == S3L_STORE_LIST) {
    d->entries = s3l_calloc((size_t)req->max_keys + 1, sizeof(*d->entries));
    if (d->entries == NULL) {
      s3l_free(job);
      return NULL;
    }
    d->max_keys = req->max_keys;
  }
  char* at = (char*)(job + 1);
  d->op = op;
  d->condition = (s3lect_condition_t)req->condition;
  d->key = copy_string(&at, req->key);
  d->etag = copy_string(&at, etag);
  d->after = copy_string(&at, after);
  if (body > 0)
    memcpy(at, req->body, body);
  d->body = at;
  d->body_len = body;
  d->buf = at + body;
  d->buf_size = buffer;
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

static int submit(s3lect_store_t* store, s3lect_store_req_t* req, s3l_store_op_t op) {
  file_t* f = store->internal;
  if (f->closing)
    return UV_ECANCELED;
  job_t* job = new_job(req, op);
  if (job == NULL)
    return UV_ENOMEM;
  int err = op == S3L_STORE_PUT ? make_id(job->disk.id) : 0;
  if (err != 0) {
    s3l_free(job);
    return err;
  }
  job->file = f;
  job->req = req;
  job->disk.dir = f->dir;
  job->disk.directory = f->directory;
  job->disk.cleans_up = op == S3L_STORE_PUT && !f->cleaned_up;
  f->cleaned_up = f->cleaned_up || op == S3L_STORE_PUT;
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

static int file_get(s3lect_store_t* store, s3lect_store_req_t* req) {
  return submit(store, req, S3L_STORE_GET);
}

static int file_put(s3lect_store_t* store, s3lect_store_req_t* req) {
  return submit(store, req, S3L_STORE_PUT);
}

static int file_del(s3lect_store_t* store, s3lect_store_req_t* req) {
  return submit(store, req, S3L_STORE_DEL);
}

static int file_list(s3lect_store_t* store, s3lect_store_req_t* req) {
  return submit(store, req, S3L_STORE_LIST);
}

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
    .get = file_get,
    .put = file_put,
    .del = file_del,
    .list = file_list,
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
