#include "store/file_disk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "util/hex.h"
#include "util/mem.h"

#define HEAD_MAGIC "s3lect 1 "

static int last_error(void) {
  return uv_translate_sys_error(errno);
}

static int64_t to_ms(struct timespec t) {
  return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
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

/* Whether it begins with a head of ours; then its ETag. */
static bool read_head(const char* p, size_t n, char etag[S3L_FILE_ETAG_SIZE]) {
  const size_t magic = sizeof(HEAD_MAGIC) - 1;
  uint8_t unused[16];
  char id[S3L_FILE_ID_SIZE];
  if (n < S3L_FILE_HEAD_SIZE || memcmp(p, HEAD_MAGIC, magic) != 0 ||
      p[S3L_FILE_HEAD_SIZE - 1] != '\n' ||
      !s3l_hex_decode((s3l_span_t){p + magic, S3L_FILE_ID_SIZE - 1}, unused, sizeof(unused)))
    return false;
  memcpy(id, p + magic, S3L_FILE_ID_SIZE - 1);
  id[S3L_FILE_ID_SIZE - 1] = '\0';
  put_id(id, etag);
  return true;
}

/* Of a file that somebody else put there. Whoever changes it makes a new file, or a new time. */
static void foreign_etag(const struct stat* st, char etag[S3L_FILE_ETAG_SIZE]) {
  (void)snprintf(etag, S3L_FILE_ETAG_SIZE, "\"foreign-%llx-%llx-%llx-%lx\"",
                 (unsigned long long)st->st_ino, (unsigned long long)st->st_size,
                 (unsigned long long)st->st_mtim.tv_sec, (unsigned long)st->st_mtim.tv_nsec);
}

typedef struct file_s {
  int fd; /* -1: there is none */
  bool foreign;
  struct stat st;
  uint64_t body_len;
} file_t;

/* Opens an object's file and reads its head. 0, with fd -1 if there is no such object. */
static int open_file(int dir, const char* path, file_t* f, char etag[S3L_FILE_ETAG_SIZE]) {
  char head[S3L_FILE_HEAD_SIZE];
  etag[0] = '\0';
  f->fd = openat(dir, path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  if (f->fd < 0)
    return errno == ENOENT || errno == ENOTDIR ? 0 : last_error();
  ssize_t n = fstat(f->fd, &f->st) != 0 ? last_error() : 0;
  if (n == 0 && !S_ISREG(f->st.st_mode))
    n = UV_EISDIR;
  if (n == 0)
    n = read_all(f->fd, head, sizeof(head));
  if (n < 0) {
    (void)close(f->fd);
    f->fd = -1;
    return (int)n;
  }
  f->foreign = !read_head(head, (size_t)n, etag);
  if (f->foreign)
    foreign_etag(&f->st, etag);
  f->body_len = (uint64_t)f->st.st_size - (f->foreign ? 0 : S3L_FILE_HEAD_SIZE);
  return 0;
}

static void close_file(file_t* f) {
  if (f->fd >= 0)
    (void)close(f->fd);
  f->fd = -1;
}

/* ---- get ---- */

static int read_body(s3l_disk_t* d, const file_t* f) {
  d->modified_ms = to_ms(f->st.st_mtim);
  if (d->condition == S3LECT_IF_CHANGED && strcmp(d->etag, d->found) == 0)
    return S3LECT_ENOTMODIFIED;
  if (f->body_len > d->buf_size)
    return S3LECT_ETOOBIG;
  if (lseek(f->fd, f->foreign ? 0 : S3L_FILE_HEAD_SIZE, SEEK_SET) < 0)
    return last_error();
  ssize_t n = read_all(f->fd, d->buf, (size_t)f->body_len);
  if (n < 0)
    return (int)n;
  d->found_len = (size_t)n;
  return (uint64_t)n == f->body_len ? 0 : UV_EIO; /* somebody truncates it under our eyes */
}

static void do_get(s3l_disk_t* d, const char* path) {
  file_t f;
  int rc = open_file(d->dir, path, &f, d->found);
  if (rc == 0)
    rc = f.fd < 0 ? S3LECT_ENOTFOUND : read_body(d, &f);
  close_file(&f);
  bool told =
      rc == 0 || rc == S3LECT_ENOTFOUND || rc == S3LECT_ENOTMODIFIED || rc == S3LECT_ETOOBIG;
  d->status = rc;
  d->outcome = told ? S3LECT_SETTLED : S3LECT_NOT_APPLIED;
}

/* ---- put and del ---- */

/* Takes the directory's lock, or sets busy. The lock file must still be the one that others take:
 * somebody may have removed it. */
static int take_lock(s3l_disk_t* d) {
  struct stat mine, theirs;
  int fd = openat(d->dir, S3L_FILE_LOCK, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (fd < 0)
    return last_error();
  int rc = flock(fd, LOCK_EX | LOCK_NB) != 0 ? last_error() : 0;
  if (rc == 0 && (fstat(fd, &mine) != 0 || fstatat(d->dir, S3L_FILE_LOCK, &theirs, 0) != 0 ||
                  mine.st_ino != theirs.st_ino || mine.st_dev != theirs.st_dev))
    rc = UV_EAGAIN;
  d->busy = rc == UV_EAGAIN || rc == UV_EINTR;
  if (rc == 0)
    return fd;
  (void)close(fd);
  return rc;
}

static int check_condition(const s3l_disk_t* d) {
  bool there = d->found[0] != '\0';
  if (d->condition == S3LECT_IF_ABSENT && there)
    return S3LECT_EPRECONDITION;
  if (d->condition == S3LECT_IF_MATCH && !there)
    return S3LECT_ENOTFOUND;
  if (d->condition == S3LECT_IF_MATCH && strcmp(d->etag, d->found) != 0)
    return S3LECT_EPRECONDITION;
  return 0;
}

static int sync_dir(int dir, const char* name) {
  int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0)
    return last_error();
  int rc = fsync(fd) != 0 ? last_error() : 0;
  (void)close(fd);
  return rc;
}

/* Calls `each` with each directory of a path but the store's own, from the outside in. */
static int for_each_dir(s3l_disk_t* d, const char* path, int (*each)(int dir, const char* name)) {
  char name[S3L_FILE_PATH_MAX];
  for (const char* p = strchr(path, '/'); p != NULL; p = strchr(p + 1, '/')) {
    size_t n = (size_t)(p - path);
    memcpy(name, path, n);
    name[n] = '\0';
    int rc = each(d->dir, name);
    if (rc != 0)
      return rc;
  }
  return 0;
}

static int make_dir(int dir, const char* name) {
  return mkdirat(dir, name, 0777) == 0 || errno == EEXIST ? 0 : last_error();
}

static int write_temp(s3l_disk_t* d) {
  char head[S3L_FILE_HEAD_SIZE + 1];
  struct stat st;
  int fd = openat(d->dir, S3L_FILE_TEMP, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd < 0)
    return last_error();
  (void)snprintf(head, sizeof(head), HEAD_MAGIC "%s\n", d->id);
  int rc = write_all(fd, head, S3L_FILE_HEAD_SIZE);
  if (rc == 0)
    rc = write_all(fd, d->body, d->body_len);
  if (rc == 0 && (fsync(fd) != 0 || fstat(fd, &st) != 0))
    rc = last_error();
  if (rc == 0)
    d->modified_ms = to_ms(st.st_mtim);
  if (close(fd) != 0 && rc == 0)
    rc = last_error();
  return rc;
}

/* From here on what is done is done: whether it will survive a loss of power is another matter. */
static void settle(s3l_disk_t* d, const char* path) {
  int rc = sync_dir(d->dir, ".");
  if (rc == 0)
    rc = for_each_dir(d, path, sync_dir);
  d->status = rc;
  d->outcome = rc == 0 ? S3LECT_SETTLED : S3LECT_UNCERTAIN;
}

static void replace(s3l_disk_t* d, const char* path) {
  int rc = write_temp(d);
  if (rc == 0)
    rc = for_each_dir(d, path, make_dir);
  if (rc == 0 && atomic_load(&d->abandoned))
    rc = UV_ECANCELED;
  if (rc == 0 && renameat(d->dir, S3L_FILE_TEMP, d->dir, path) != 0)
    rc = last_error();
  if (rc != 0) {
    (void)unlinkat(d->dir, S3L_FILE_TEMP, 0);
    d->status = rc;
    d->outcome = S3LECT_NOT_APPLIED;
    return;
  }
  put_id(d->id, d->found);
  settle(d, path);
}

static void erase(s3l_disk_t* d, const char* path) {
  if (d->found[0] == '\0')
    return; /* like S3, says nothing of whether there was such an object */
  if (unlinkat(d->dir, path, 0) != 0 && errno != ENOENT) {
    d->status = last_error();
    d->outcome = S3LECT_NOT_APPLIED;
    return;
  }
  settle(d, path);
}

static void do_write(s3l_disk_t* d, const char* path) {
  file_t f;
  int lock = take_lock(d);
  if (lock < 0) {
    d->status = lock;
    d->outcome = S3LECT_NOT_APPLIED;
    return;
  }
  int rc = open_file(d->dir, path, &f, d->found);
  close_file(&f);
  if (rc == 0 && atomic_load(&d->abandoned))
    rc = UV_ECANCELED;
  if (rc != 0) {
    d->status = rc;
    d->outcome = S3LECT_NOT_APPLIED;
  } else if ((d->status = check_condition(d)) == 0) {
    if (d->op == S3L_STORE_PUT)
      replace(d, path);
    else
      erase(d, path);
  }
  (void)close(lock);
}

/* ---- list ---- */

/* Keeps the first max_keys + 1 keys, in order. */
static void keep_entry(s3l_disk_t* d, const s3l_file_entry_t* e) {
  size_t cap = (size_t)d->max_keys + 1, at = d->entries_len;
  while (at > 0 && strcmp(d->entries[at - 1].key, e->key) > 0)
    at--;
  if (at == cap)
    return;
  size_t behind = (d->entries_len < cap ? d->entries_len : cap - 1) - at;
  memmove(&d->entries[at + 1], &d->entries[at], behind * sizeof(*e));
  d->entries[at] = *e;
  d->entries_len += d->entries_len < cap ? 1 : 0;
}

static int list_file(s3l_disk_t* d, const char* path) {
  s3l_file_entry_t e;
  file_t f;
  if (!s3l_file_key(s3l_span_cstr(path), e.key) ||
      !s3l_span_starts_with(s3l_span_cstr(e.key), s3l_span_cstr(d->key)) ||
      (d->after != NULL && strcmp(e.key, d->after) <= 0))
    return 0;
  int rc = open_file(d->dir, path, &f, e.etag);
  if (rc == UV_EISDIR)
    return 0;
  if (rc != 0 || f.fd < 0)
    return rc; /* deleted meanwhile, or unreadable */
  e.body_len = f.body_len;
  e.modified_ms = to_ms(f.st.st_mtim);
  close_file(&f);
  keep_entry(d, &e);
  return 0;
}

static int list_dir(s3l_disk_t* d, int parent, const char* name, char* path, size_t len);

static int list_name(s3l_disk_t* d, int dir, const char* name, char* path, size_t len) {
  size_t n = strlen(name);
  if (name[0] == '.' || len + n + 2 > S3L_FILE_PATH_MAX)
    return 0;
  memcpy(path + len, name, n + 1);
  if (name[n - 1] != '+')
    return list_file(d, path);
  if (n + 1 < S3L_FILE_PART_MAX)
    return 0; /* no part of ours goes on so early: so the depth is bounded, too */
  path[len + n] = '/';
  return list_dir(d, dir, name, path, len + n + 1);
}

static int list_dir(s3l_disk_t* d, int parent, const char* name, char* path, size_t len) {
  int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0)
    return errno == ENOTDIR || errno == ENOENT ? 0 : last_error();
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

static void do_list(s3l_disk_t* d) {
  char path[S3L_FILE_PATH_MAX];
  d->entries_len = 0;
  d->status = list_dir(d, d->dir, ".", path, 0);
  d->outcome = d->status == 0 ? S3LECT_SETTLED : S3LECT_NOT_APPLIED;
  d->truncated = d->entries_len > d->max_keys;
  if (d->truncated)
    d->entries_len = d->max_keys;
}

void s3l_disk_run(s3l_disk_t* d) {
  char path[S3L_FILE_PATH_MAX];
  struct timespec now;
  d->busy = false;
  d->status = 0;
  d->outcome = S3LECT_SETTLED;
  d->found[0] = '\0';
  if (d->op != S3L_STORE_LIST)
    s3l_file_path(d->key, path);
  switch (d->op) {
  case S3L_STORE_GET:
    do_get(d, path);
    break;
  case S3L_STORE_PUT:
  case S3L_STORE_DEL:
    do_write(d, path);
    break;
  case S3L_STORE_LIST:
    do_list(d);
    break;
  }
  (void)clock_gettime(CLOCK_REALTIME, &now);
  d->now_ms = to_ms(now);
}
