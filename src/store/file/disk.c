#include "store/file/disk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "loop/clock.h"
#include "store/file/open.h"
#include "util/hex.h"

#define HEAD_MAGIC   "s3lect 1 "
#define HEAD_SIZE    42 /* the magic, the ID, a line end */
#define TEMP_PREFIX  ".s3lect-tmp"
#define TEMP_SIZE    (sizeof(TEMP_PREFIX) + S3L_FILE_ID_SIZE)
#define LEFTOVER_AGE 3600000 /* ms: longer than any write takes */

static int last_error(void) {
  return -errno;
}

/* ---- Files ---- */

/* Reads up to n bytes, as many as there are. */
static ssize_t read_all(int fd, char* buf, size_t n) {
  size_t did = 0;
  while (did < n) {
    ssize_t r = read(fd, buf + did, n - did);
    if (r < 0 && errno == EINTR)
      continue;
    if (r < 0)
      return last_error();
    if (r == 0)
      break;
    did += (size_t)r;
  }
  return (ssize_t)did;
}

static int write_all(int fd, const char* p, size_t n) {
  while (n > 0) {
    ssize_t r = write(fd, p, n);
    if (r < 0 && errno == EINTR)
      continue;
    if (r < 0)
      return last_error();
    p += r;
    n -= (size_t)r;
  }
  return 0;
}

static void put_id(const char id[S3L_FILE_ID_SIZE], char etag[S3L_FILE_ETAG_SIZE]) {
  (void)snprintf(etag, S3L_FILE_ETAG_SIZE, "\"%s\"", id);
}

/* Whether the file begins with a head of this store; then its ETag. */
static bool read_head(const char* p, size_t n, char etag[S3L_FILE_ETAG_SIZE]) {
  const size_t magic = sizeof(HEAD_MAGIC) - 1;
  uint8_t unused[16];
  char id[S3L_FILE_ID_SIZE];
  if (n < HEAD_SIZE || memcmp(p, HEAD_MAGIC, magic) != 0 || p[HEAD_SIZE - 1] != '\n' ||
      !s3l_hex_decode((s3l_span_t){p + magic, S3L_FILE_ID_SIZE - 1}, unused, sizeof(unused)))
    return false;
  memcpy(id, p + magic, S3L_FILE_ID_SIZE - 1);
  id[S3L_FILE_ID_SIZE - 1] = '\0';
  put_id(id, etag);
  return true;
}

/* The ETag of a file that another program made. Any change gives it a new inode, size or time. */
static void foreign_etag(const struct stat* st, char etag[S3L_FILE_ETAG_SIZE]) {
  (void)snprintf(etag, S3L_FILE_ETAG_SIZE, "\"foreign-%llx-%llx-%llx-%lx\"",
                 (unsigned long long)st->st_ino, (unsigned long long)st->st_size,
                 (unsigned long long)st->S3L_ST_MTIM.tv_sec,
                 (unsigned long)st->S3L_ST_MTIM.tv_nsec);
}

typedef struct file_s {
  int fd; /* -1: there is none */
  bool foreign;
  struct stat st;
  uint64_t body_len;
} file_t;

/* Opens an object's file and reads its head. 0, with fd -1 if there is no such object. */
static int open_file(int store, int dir, const char* name, file_t* f,
                     char etag[S3L_FILE_ETAG_SIZE]) {
  char head[HEAD_SIZE];
  etag[0] = '\0';
  f->fd = s3l_file_open_old(store, dir, name, &f->st);
  if (f->fd < 0)
    return f->fd == UV_ENOENT ? 0 : f->fd;
  ssize_t n = read_all(f->fd, head, sizeof(head));
  if (n < 0) {
    (void)close(f->fd);
    f->fd = -1;
    return (int)n;
  }
  f->foreign = !read_head(head, (size_t)n, etag);
  if (f->foreign)
    foreign_etag(&f->st, etag);
  f->body_len = (uint64_t)f->st.st_size - (f->foreign ? 0 : HEAD_SIZE);
  return 0;
}

static void close_file(file_t* f) {
  if (f->fd >= 0)
    (void)close(f->fd);
  f->fd = -1;
}

/* ---- get ---- */

static int read_body(s3l_disk_t* d, const file_t* f) {
  int rc = s3l_store_check_condition(&d->req, d->etag);
  if (rc == 0 && f->body_len > d->req.body_max)
    rc = S3LECT_ETOOBIG;
  if (rc == 0) {
    if (lseek(f->fd, f->foreign ? 0 : HEAD_SIZE, SEEK_SET) < 0)
      return last_error();
    ssize_t n = read_all(f->fd, d->buf, (size_t)f->body_len);
    if (n < 0 || (uint64_t)n != f->body_len)
      return n < 0 ? (int)n : UV_EIO; /* another program has truncated the file */
    d->result.body = d->buf;
    d->result.body_len = (size_t)n;
  }
  d->result.etag = d->etag;
  d->result.modified_ms = s3l_file_ms(f->st.S3L_ST_MTIM);
  return rc;
}

static int do_get(s3l_disk_t* d, const char* path) {
  file_t f = {.fd = -1};
  const char* name;
  int dir = s3l_file_open_dir(d->dir, path, S3L_WALK_FIND, &name);
  int rc = dir >= 0 ? open_file(d->dir, dir, name, &f, d->etag) : dir;
  if (rc == 0)
    rc = f.fd < 0 ? S3LECT_ENOTFOUND : read_body(d, &f);
  close_file(&f);
  if (dir >= 0)
    (void)close(dir);
  return rc == UV_ENOENT ? S3LECT_ENOTFOUND : rc;
}

/* ---- put and del ---- */

static int look(s3l_disk_t* d, int dir, const char* name) {
  file_t f = {.fd = -1};
  int rc = dir >= 0 ? open_file(d->dir, dir, name, &f, d->etag) : 0;
  close_file(&f);
  return rc == 0 ? s3l_store_check_condition(&d->req, d->etag[0] != '\0' ? d->etag : NULL) : rc;
}

static void temp_name(const s3l_disk_t* d, char name[TEMP_SIZE]) {
  (void)snprintf(name, TEMP_SIZE, TEMP_PREFIX "-%s", d->id);
}

static int write_temp(s3l_disk_t* d) {
  char head[HEAD_SIZE + 1], name[TEMP_SIZE];
  struct stat st;
  temp_name(d, name);
  int fd = s3l_file_open_new(d->dir, name);
  if (fd < 0)
    return fd;
  d->has_temp = true;
  (void)snprintf(head, sizeof(head), HEAD_MAGIC "%s\n", d->id);
  int rc = write_all(fd, head, HEAD_SIZE);
  if (rc == 0)
    rc = write_all(fd, d->req.body, d->req.body_len);
  if (rc == 0 && (fsync(fd) != 0 || fstat(fd, &st) != 0))
    rc = last_error();
  if (rc == 0)
    d->written_ms = s3l_file_ms(st.S3L_ST_MTIM);
  if (close(fd) != 0 && rc == 0)
    rc = last_error();
  return rc;
}

/* Removes the temporary files of processes that crashed. (If a stopped process resumes after that,
 * its write fails.) The age is measured from the file just written, since the disk may belong to
 * another machine with its own clock. */
static void remove_leftovers(const s3l_disk_t* d) {
  struct stat st;
  int fd = openat(d->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* stream = fd >= 0 ? fdopendir(fd) : NULL;
  if (stream == NULL) {
    if (fd >= 0)
      (void)close(fd);
    return;
  }
  for (const struct dirent* e = readdir(stream); e != NULL; e = readdir(stream))
    if (strncmp(e->d_name, TEMP_PREFIX, sizeof(TEMP_PREFIX) - 1) == 0 &&
        fstatat(fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) &&
        d->written_ms - s3l_file_ms(st.S3L_ST_MTIM) > LEFTOVER_AGE)
      (void)unlinkat(fd, e->d_name, 0);
  (void)closedir(stream);
}

/* Puts the new file in the object's place, or removes the object. Other processes see only this. */
static int apply(s3l_disk_t* d, int dir, const char* name) {
  char temp[TEMP_SIZE];
  if (d->req.op == S3LECT_OP_PUT) {
    temp_name(d, temp);
    if (renameat(d->dir, temp, dir, name) != 0)
      return last_error();
    d->has_temp = false;
    put_id(d->id, d->etag);
  } else if (d->etag[0] == '\0') {
    return 0; /* like S3, says nothing of whether there was an object */
  } else if (unlinkat(dir, name, 0) != 0) {
    return last_error();
  }
  d->applied = true;
  return 0;
}

/* The new file is written and flushed before the lock is taken, since that may take long. The first
 * check of the condition avoids a useless write. */
static int try_write(s3l_disk_t* d, const char* path, int dir, const char* name) {
  int rc = look(d, dir, name);
  if (rc == 0 && d->req.op == S3LECT_OP_PUT && !d->has_temp)
    rc = write_temp(d);
  if (rc != 0)
    return rc;
  d->at = S3L_FILE_LOCK;
  int lock = s3l_file_lock(d->dir);
  d->busy = lock == UV_EAGAIN;
  if (lock < 0)
    return lock;
  d->at = path;
  rc = look(d, dir, name);
  if (rc == 0)
    rc = atomic_load(&d->abandoned) ? UV_ECANCELED : apply(d, dir, name);
  s3l_file_unlock(lock);
  return rc;
}

static void drop_temp(s3l_disk_t* d) {
  char temp[TEMP_SIZE];
  temp_name(d, temp);
  if (d->has_temp)
    (void)unlinkat(d->dir, temp, 0);
  d->has_temp = false;
}

/* Flushes the directories. If that fails, the write may not survive a loss of power. */
static int flush(s3l_disk_t* d, const char* path) {
  const char* name;
  int dir = s3l_file_open_dir(d->dir, path, S3L_WALK_SYNC, &name);
  if (dir < 0)
    return dir;
  (void)close(dir);
  if (d->req.op == S3LECT_OP_PUT) {
    d->result.etag = d->etag;
    d->result.modified_ms = d->written_ms;
  }
  return 0;
}

static int do_write(s3l_disk_t* d, const char* path) {
  const char* name = NULL;
  s3l_walk_t how = d->req.op == S3LECT_OP_PUT ? S3L_WALK_MAKE : S3L_WALK_FIND;
  int dir = s3l_file_open_dir(d->dir, path, how, &name);
  int rc = dir;
  if (atomic_load(&d->abandoned))
    rc = UV_ECANCELED;
  else if (dir >= 0 || (dir == UV_ENOENT && d->req.op == S3LECT_OP_DEL))
    rc = try_write(d, path, dir, name);
  if (dir >= 0)
    (void)close(dir);
  if (d->busy && !atomic_load(&d->abandoned))
    return rc;
  drop_temp(d);
  if (d->applied)
    rc = flush(d, path);
  if (d->applied && d->cleans_up)
    remove_leftovers(d);
  return rc;
}

/* ---- list ---- */

/* Moves the new entry, which is behind the others, to its place. More than max_keys are too many:
 * then the entry behind them is the next new one's. */
static void keep_entry(s3l_disk_t* d) {
  s3lect_store_entry_t* e = d->entries;
  for (size_t i = d->result.entries_len; i > 0 && strcmp(e[i - 1].key, e[i].key) > 0; i--) {
    s3lect_store_entry_t greater = e[i - 1];
    e[i - 1] = e[i];
    e[i] = greater;
  }
  if (d->result.entries_len < d->req.max_keys)
    d->result.entries_len++;
  else
    d->result.truncated = 1;
}

static int list_file(s3l_disk_t* d, int dir, const char* name, const char* path) {
  s3lect_store_entry_t* e = &d->entries[d->result.entries_len];
  file_t f;
  if (!s3l_file_key(s3l_span_cstr(path), (char*)e->key) ||
      !s3l_span_starts_with(s3l_span_cstr(e->key), s3l_span_cstr(d->req.key)) ||
      (d->req.after != NULL && strcmp(e->key, d->req.after) <= 0))
    return 0;
  int rc = open_file(d->dir, dir, name, &f, (char*)e->etag);
  if (rc == UV_EISDIR)
    return 0;
  if (rc != 0 || f.fd < 0)
    return rc; /* deleted meanwhile, or unreadable */
  e->body_len = f.body_len;
  e->modified_ms = s3l_file_ms(f.st.S3L_ST_MTIM);
  close_file(&f);
  keep_entry(d);
  return 0;
}

static int list_dir(s3l_disk_t* d, int parent, const char* name, char* path, size_t len);

static int list_name(s3l_disk_t* d, int dir, const char* name, char* path, size_t len) {
  size_t n = strlen(name);
  if (name[0] == '.' || len + n + 2 > S3L_FILE_PATH_MAX)
    return 0;
  memcpy(path + len, name, n + 1);
  if (name[n - 1] != '+')
    return list_file(d, dir, name, path);
  if (n + 1 < S3L_FILE_PART_MAX)
    return 0; /* the store ends only full parts with a '+'; this bounds the depth, too */
  path[len + n] = '/';
  return list_dir(d, dir, name, path, len + n + 1);
}

static int list_dir(s3l_disk_t* d, int parent, const char* name, char* path, size_t len) {
  int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) /* the store makes no links */
    return errno == ENOTDIR || errno == ENOENT || errno == ELOOP ? 0 : last_error();
  DIR* stream = fdopendir(fd);
  int rc = stream == NULL ? last_error() : 0;
  while (rc == 0) {
    errno = 0;
    const struct dirent* entry = readdir(stream);
    if (entry == NULL) {
      rc = errno != 0 ? last_error() : 0;
      break;
    }
    rc = list_name(d, fd, entry->d_name, path, len);
  }
  if (stream != NULL)
    (void)closedir(stream);
  else
    (void)close(fd);
  return rc;
}

static int do_list(s3l_disk_t* d, char path[S3L_FILE_PATH_MAX]) {
  int rc = list_dir(d, d->dir, ".", path, 0);
  if (rc == 0)
    d->result.entries = d->entries;
  else
    d->result.entries_len = d->result.truncated = 0;
  return rc;
}

/* ---- One operation ---- */

static const char* reason(const s3l_disk_t* d) {
  if (d->busy)
    return "another process holds the lock";
  switch (d->result.status) {
  case UV_EFTYPE:
    return "is a link or another special file, which the store does not use: remove it";
  case UV_EPERM:
    return "belongs to another user";
  case UV_EISDIR:
    return "is a directory";
  case -EDQUOT: /* libuv has no words for these two */
    return "disk quota exceeded";
  case -ESTALE:
    return "stale file handle";
  default:
    return s3lect_strerror(d->result.status);
  }
}

/* Whether the directory's name leads to another directory now: this one was moved or removed, or a
 * file system was mounted over it. */
static bool is_replaced(const s3l_disk_t* d) {
  struct stat ours, theirs;
  if (fstat(d->dir, &ours) != 0)
    return true;
  if (stat(d->directory, &theirs) != 0)
    return errno == ENOENT || errno == ENOTDIR;
  return ours.st_ino != theirs.st_ino || ours.st_dev != theirs.st_dev;
}

void s3l_disk_run(s3l_disk_t* d) {
  char path[S3L_FILE_PATH_MAX] = "";
  bool replaced = is_replaced(d);
  int rc = UV_ENOENT;
  d->busy = false;
  d->etag[0] = '\0';
  d->at = path;
  d->result = (s3lect_store_result_t){.message = d->message};
  if (d->req.op != S3LECT_OP_LIST)
    s3l_file_path(d->req.key, path);
  if (replaced)
    drop_temp(d);
  else if (d->req.op == S3LECT_OP_GET)
    rc = do_get(d, path);
  else if (d->req.op == S3LECT_OP_LIST)
    rc = do_list(d, path);
  else
    rc = do_write(d, path);
  s3l_store_settle(&d->result, rc);
  if (rc != 0 && d->applied)
    d->result.outcome = S3LECT_UNCERTAIN;
  if (replaced)
    (void)snprintf(d->message, sizeof(d->message),
                   "%.400s: the directory was moved, removed or mounted over: restart the elector",
                   d->directory);
  else if (d->busy || d->result.outcome != S3LECT_SETTLED)
    (void)snprintf(d->message, sizeof(d->message), "%.200s/%.200s: %s", d->directory, d->at,
                   reason(d));
  else
    d->result.message = NULL;
  d->result.store_time_ms = s3l_file_now_ms(d->dir);
  if (d->result.store_time_ms == 0) /* a reader that may not write; no elector can be one */
    d->result.store_time_ms = s3l_clock_wall_ms();
}
