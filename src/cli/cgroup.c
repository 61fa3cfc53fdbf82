#include "cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LINE_SIZE 4096

static bool find_line(const char* file, const char* mark, char line[LINE_SIZE]) {
  bool found = false;
  FILE* lines = fopen(file, "re");
  while (lines != NULL && !found && fgets(line, LINE_SIZE, lines) != NULL)
    found = strstr(line, mark) != NULL;
  if (lines != NULL)
    fclose(lines);
  return found;
}

void cli_cgroup_name(cli_cgroup_t* cgroup, pid_t pid) {
  char line[LINE_SIZE], root[LINE_SIZE], point[LINE_SIZE], place[LINE_SIZE];
  cgroup->path[0] = '\0';
  /* Where the hierarchy is mounted, and what of it: columns 5 and 4. */
  if (!find_line("/proc/self/mountinfo", " - cgroup2 ", line) ||
      sscanf(line, "%*s %*s %*s %4095s %4095s", root, point) != 2)
    return;
  /* This process's place in it. */
  if (!find_line("/proc/self/cgroup", "0::", line) || sscanf(line, "0::%4095[^\n]", place) != 1)
    return;
  size_t skip = strcmp(root, "/") == 0 ? 0 : strlen(root);
  if (strncmp(place, root, skip) != 0 || strstr(place, "/..") != NULL)
    return; /* not below what is mounted here */
  const char* rest = place + skip;
  int n = snprintf(cgroup->path, sizeof cgroup->path, "%s%s%ss3lect-%jd", point, rest,
                   rest[0] == '\0' || rest[strlen(rest) - 1] != '/' ? "/" : "", (intmax_t)pid);
  if (n < 0 || (size_t)n >= sizeof cgroup->path)
    cgroup->path[0] = '\0';
}

static bool put(const cli_cgroup_t* cgroup, const char* name, const char* text) {
  char path[CLI_CGROUP_SIZE + 32];
  if (cgroup->path[0] == '\0')
    return false;
  snprintf(path, sizeof path, "%s/%s", cgroup->path, name);
  int fd = open(path, O_WRONLY | O_CLOEXEC);
  bool ok = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
  if (fd >= 0)
    close(fd);
  return ok;
}

void cli_cgroup_make(cli_cgroup_t* cgroup) {
  bool made = cgroup->path[0] != '\0' && (mkdir(cgroup->path, 0755) == 0 || errno == EEXIST);
  if (made && put(cgroup, "cgroup.kill", "1")) /* it is empty */
    return;
  if (made)
    rmdir(cgroup->path);
  cgroup->path[0] = '\0';
}

void cli_cgroup_enter(const cli_cgroup_t* cgroup) {
  if (!put(cgroup, "cgroup.procs", "0"))
    (void)cli_cgroup_remove(cgroup);
}

void cli_cgroup_kill(const cli_cgroup_t* cgroup) {
  (void)put(cgroup, "cgroup.kill", "1");
}

int cli_cgroup_remove(const cli_cgroup_t* cgroup) {
  if (cgroup->path[0] == '\0')
    return ENOENT;
  return rmdir(cgroup->path) == 0 ? 0 : errno;
}
