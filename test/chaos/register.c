/* The program of `s3lect run`: it writes under its epoch to a register that all such programs of a
 * run share. The register refuses an epoch below the highest that it has seen, and logs each write.
 * As a program it is as bad as its habits: it ignores SIGTERM, has children in its group, and
 * daemons that have left the group and the session, and becomes another user. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "chaos/chaos.h"

#define WRITE_EVERY_MS 20
#define EXIT_AFTER_MS  1500
#define NOBODY         65534

static int open_in(const char* dir, const char* name, int flags) {
  char path[256];
  snprintf(path, sizeof path, "%s/%s", dir, name);
  return open(path, flags | O_CLOEXEC, 0600);
}

/* One write. False if the register does not work. */
static bool write_once(int highest, int log, uint64_t epoch, const char* life) {
  uint64_t before = 0;
  char line[128];
  if (flock(highest, LOCK_EX) != 0)
    return errno == EINTR;
  ssize_t n = pread(highest, &before, sizeof before, 0);
  bool accepted = n != (ssize_t)sizeof before || epoch >= before;
  int64_t now = s3lect_now_ns();
  if (accepted && pwrite(highest, &epoch, sizeof epoch, 0) != (ssize_t)sizeof epoch)
    return false;
  int len = snprintf(line, sizeof line, "%s %" PRIu64 " %" PRId64 " %d\n", life, epoch, now,
                     accepted ? 1 : 0);
  bool logged = write(log, line, (size_t)len) == len;
  flock(highest, LOCK_UN);
  return logged;
}

static void write_for_ever(const char* dir, unsigned habits, int exit_after_ms) {
  const char* epoch = getenv("S3LECT_EPOCH");
  const char* life = getenv("S3L_CHAOS_LIFE");
  int highest = open_in(dir, "register", O_RDWR | O_CREAT);
  int log = open_in(dir, "writes", O_WRONLY | O_APPEND);
  if (epoch == NULL || life == NULL || highest < 0 || log < 0)
    _exit(9);
  if ((habits & CHAOS_OTHER_USER) != 0 && geteuid() == 0 &&
      (setgid(NOBODY) != 0 || setuid(NOBODY) != 0))
    _exit(9);
  for (int ms = 0; exit_after_ms == 0 || ms < exit_after_ms; ms += WRITE_EVERY_MS) {
    if (!write_once(highest, log, strtoull(epoch, NULL, 10), life))
      _exit(9);
    poll(NULL, 0, WRITE_EVERY_MS);
  }
}

int chaos_writer(const char* dir, unsigned habits) {
  if ((habits & CHAOS_IGNORES_TERM) != 0) {
    signal(SIGTERM, SIG_IGN);
    signal(SIGINT, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
  }
  if ((habits & CHAOS_FORKS) != 0 && fork() == 0)
    write_for_ever(dir, habits, 0);
  if ((habits & CHAOS_DAEMONISES) != 0 && fork() == 0) {
    setsid();
    if (fork() != 0)
      _exit(0);
    write_for_ever(dir, habits, 0);
  }
  write_for_ever(dir, habits, (habits & CHAOS_EXITS) != 0 ? EXIT_AFTER_MS : 0);
  return CHAOS_EXIT_STATUS;
}
