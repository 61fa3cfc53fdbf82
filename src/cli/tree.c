#include "tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TREE_MAX  8192 /* descendants per call; the next call finds the others */
#define TEXT_SIZE 4096

static pid_t found[TREE_MAX];
static size_t found_len;

static void add(pid_t pid) {
  for (size_t i = 0; i < found_len; i++)
    if (found[i] == pid)
      return;
  if (pid > 1 && found_len < TREE_MAX)
    found[found_len++] = pid;
}

/* Reads the children that one thread has started: "PID PID ... ". */
static void add_children_of_thread(const char* pid, const char* tid) {
  char path[64];
  char text[TEXT_SIZE];
  snprintf(path, sizeof path, "/proc/%.16s/task/%.16s/children", pid, tid);
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return;
  intmax_t number = 0;
  for (ssize_t n; (n = read(fd, text, sizeof text)) > 0;) {
    for (ssize_t i = 0; i < n; i++) {
      if (text[i] >= '0' && text[i] <= '9') {
        number = number * 10 + (text[i] - '0');
      } else {
        add((pid_t)number);
        number = 0;
      }
    }
  }
  close(fd);
}

static void add_children(pid_t parent) {
  char pid[16], path[64];
  snprintf(pid, sizeof pid, "%jd", (intmax_t)parent);
  snprintf(path, sizeof path, "/proc/%s/task", pid);
  DIR* threads = opendir(path);
  if (threads == NULL)
    return;
  for (const struct dirent* entry; (entry = readdir(threads)) != NULL;)
    if (entry->d_name[0] != '.')
      add_children_of_thread(pid, entry->d_name);
  closedir(threads);
}

bool cli_tree_is_visible(void) {
  char self[16], target[16], path[64];
  snprintf(self, sizeof self, "%jd", (intmax_t)getpid());
  ssize_t n = readlink("/proc/self", target, sizeof target - 1);
  target[n > 0 ? n : 0] = '\0';
  snprintf(path, sizeof path, "/proc/%s/task/%s/children", self, self);
  return strcmp(self, target) == 0 && access(path, R_OK) == 0;
}

int cli_tree_signal(int signum) {
  found_len = 0;
  for (size_t done = 0;;) {
    add_children(getpid()); /* again: orphans become our children */
    if (done == found_len)
      return (int)found_len;
    for (; done < found_len; done++) {
      if (signum != 0)
        kill(found[done], signum);
      add_children(found[done]);
    }
  }
}
