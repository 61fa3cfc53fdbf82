/* Processes as /proc shows them: children, those of a run, and limits of running ones. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "chaos/chaos.h"

/* A file of /proc/PID as text; its NULs become spaces. Returns its length, 0 if there is none. */
static size_t proc_text(pid_t pid, const char* name, char* text, size_t size) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  ssize_t n = fd >= 0 ? read(fd, text, size - 1) : 0;
  if (fd >= 0)
    close(fd);
  n = n < 0 ? 0 : n;
  for (ssize_t i = 0; i < n; i++)
    if (text[i] == '\0')
      text[i] = ' ';
  text[n] = '\0';
  return (size_t)n;
}

pid_t chaos_child_of(pid_t parent, const char* name) {
  char path[64], children[512], comm[64];
  if (parent == 0)
    return 0;
  snprintf(path, sizeof path, "task/%d/children", (int)parent);
  (void)proc_text(parent, path, children, sizeof children);
  for (char* p = children; *p != '\0';) {
    pid_t pid = (pid_t)strtol(p, &p, 10);
    p += strspn(p, " ");
    if (pid <= 0)
      break;
    (void)proc_text(pid, "comm", comm, sizeof comm);
    if (name == NULL || strncmp(comm, name, strlen(name)) == 0)
      return pid;
  }
  return 0;
}

/* The environment at its start, which its children inherit, names the scratch folder and the life.
 */
static bool is_of(const chaos_t* chaos, unsigned life, pid_t pid) {
  static char text[128 * 1024];
  char folder[128], whose[64] = "";
  snprintf(folder, sizeof folder, "S3L_CHAOS=%s ", chaos->s3.dir);
  if (life != 0)
    snprintf(whose, sizeof whose, "S3L_CHAOS_LIFE=%u ", life);
  return proc_text(pid, "environ", text, sizeof text) > 0 && strstr(text, folder) != NULL &&
         strstr(text, whose) != NULL;
}

bool chaos_is_running(pid_t pid) {
  char text[512];
  const char* state = proc_text(pid, "stat", text, sizeof text) > 0 ? strrchr(text, ')') : NULL;
  return state != NULL && strchr("TtZX", state[2]) == NULL;
}

pid_t chaos_next_process(const chaos_t* chaos, unsigned life, pid_t after) {
  pid_t found = 0;
  DIR* dir = opendir("/proc");
  for (const struct dirent* e; dir != NULL && (e = readdir(dir)) != NULL;) {
    pid_t pid = (pid_t)strtol(e->d_name, NULL, 10);
    bool own = pid == getpid() || (chaos->s3.fake != NULL && pid == proc_pid(chaos->s3.fake));
    if (pid > after && (found == 0 || pid < found) && !own && is_of(chaos, life, pid))
      found = pid;
  }
  if (dir != NULL)
    closedir(dir);
  return found;
}

int chaos_limit(pid_t pid, int resource, uint64_t soft) {
  struct rlimit limit;
  if (prlimit(pid, (__rlimit_resource_t)resource, NULL, &limit) != 0)
    return -1;
  limit.rlim_cur = soft < limit.rlim_max ? soft : limit.rlim_max;
  return prlimit(pid, (__rlimit_resource_t)resource, &limit, NULL);
}

uint64_t chaos_open_files(pid_t pid) {
  char path[64];
  uint64_t most = 0;
  snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
  DIR* dir = opendir(path);
  for (const struct dirent* e; dir != NULL && (e = readdir(dir)) != NULL;) {
    uint64_t fd = strtoull(e->d_name, NULL, 10);
    most = fd + 1 > most ? fd + 1 : most;
  }
  if (dir != NULL)
    closedir(dir);
  return most;
}

uint64_t chaos_address_space(pid_t pid) {
  char text[128];
  (void)proc_text(pid, "statm", text, sizeof text);
  return strtoull(text, NULL, 10) * (uint64_t)sysconf(_SC_PAGESIZE);
}
