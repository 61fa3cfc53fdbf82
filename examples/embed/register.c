#include "register.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>
#include <uv.h>

#define LINE_MAX_LEN 512

/* The last whole line of the file, and where the file is good up to: a writer that died may have
 * left half a line behind. */
static int read_last(int fd, uint64_t* epoch, uint64_t* value, off_t* end) {
  char tail[2 * LINE_MAX_LEN + 1];
  off_t size = lseek(fd, 0, SEEK_END);
  if (size < 0)
    return uv_translate_sys_error(errno);
  off_t from = size > 2 * LINE_MAX_LEN ? size - 2 * LINE_MAX_LEN : 0;
  ssize_t n = pread(fd, tail, 2 * LINE_MAX_LEN, from);
  if (n < 0)
    return uv_translate_sys_error(errno);
  tail[n] = '\0';
  *epoch = *value = 0;
  *end = from;
  char* newline = strrchr(tail, '\n');
  if (newline == NULL)
    return from == 0 ? 0 : UV_EIO;
  *end = from + (newline - tail) + 1;
  *newline = '\0';
  char* line = strrchr(tail, '\n');
  line = line != NULL ? line + 1 : tail;
  return sscanf(line, "%" SCNu64 " %" SCNu64, epoch, value) == 2 ? 0 : UV_EIO;
}

static int append(int fd, off_t end, uint64_t epoch, uint64_t value, const char* writer) {
  char line[LINE_MAX_LEN];
  int len = snprintf(line, sizeof line, "%" PRIu64 " %" PRIu64 " %s\n", epoch, value, writer);
  if (len < 0 || (size_t)len >= sizeof line)
    return UV_EINVAL;
  if (ftruncate(fd, end) != 0)
    return uv_translate_sys_error(errno);
  ssize_t n = pwrite(fd, line, (size_t)len, end);
  if (n != len)
    return n < 0 ? uv_translate_sys_error(errno) : UV_ENOSPC;
  return fsync(fd) == 0 ? 0 : uv_translate_sys_error(errno);
}

int register_add(const char* path, uint64_t epoch, const char* writer, uint64_t* value,
                 uint64_t* seen) {
  int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0)
    return uv_translate_sys_error(errno);
  int err;
  do
    err = flock(fd, LOCK_EX) == 0 ? 0 : uv_translate_sys_error(errno);
  while (err == UV_EINTR);
  off_t end = 0;
  if (err == 0)
    err = read_last(fd, seen, value, &end);
  if (err == 0 && epoch < *seen)
    err = UV_EACCES;
  if (err == 0)
    err = append(fd, end, epoch, ++*value, writer);
  close(fd); /* and gives the lock back */
  return err;
}
