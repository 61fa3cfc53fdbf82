#include "tube.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#ifdef SPLICE_F_MOVE

static tube_t* make(void) {
  int fds[2];
  tube_t* tube = calloc(1, sizeof *tube);
  if (tube == NULL || pipe2(fds, O_CLOEXEC | O_NONBLOCK) != 0) {
    free(tube);
    return NULL;
  }
  (void)fcntl(fds[0], F_SETPIPE_SZ, TUBE_BYTES); /* a smaller one does as well */
  tube->out = fds[0];
  tube->in = fds[1];
  return tube;
}

ssize_t tube_fill(tube_t* tube, int fd) {
  ssize_t n = splice(fd, NULL, tube->in, NULL, TUBE_BYTES, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
  tube->held = n > 0 ? (size_t)n : 0;
  return n;
}

ssize_t tube_pour(tube_t* tube, int fd) {
  ssize_t n = splice(tube->out, NULL, fd, NULL, tube->held, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
  tube->held -= n > 0 ? (size_t)n : 0;
  return n;
}

#else

static tube_t* make(void) {
  return NULL;
}

ssize_t tube_fill(tube_t* tube, int fd) {
  (void)tube;
  (void)fd;
  errno = ENOSYS;
  return -1;
}

ssize_t tube_pour(tube_t* tube, int fd) {
  return tube_fill(tube, fd);
}

#endif

static void destroy(tube_t* tube) {
  close(tube->in);
  close(tube->out);
  free(tube);
}

tube_t* tube_take(tubes_t* tubes) {
  tube_t* tube = tubes->free;
  if (tube != NULL) {
    tubes->free = tube->next;
    tubes->free_len--;
  } else if (tubes->used == TUBES_MAX || (tube = make()) == NULL) {
    return NULL;
  }
  tubes->used++;
  return tube;
}

void tube_give(tubes_t* tubes, tube_t* tube) {
  tubes->used--;
  if (tube->held > 0 || tubes->free_len == TUBES_KEPT) {
    destroy(tube);
    return;
  }
  tube->next = tubes->free;
  tubes->free = tube;
  tubes->free_len++;
}

void tubes_end(tubes_t* tubes) {
  while (tubes->free != NULL) {
    tube_t* tube = tubes->free;
    tubes->free = tube->next;
    destroy(tube);
  }
}
