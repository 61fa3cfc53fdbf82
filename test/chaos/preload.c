/* Loaded into each process of a candidate, before the C library: its clocks (lib/clocks.h) are
 * those of a file that s3lect-chaos changes. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/clocks.h"

__attribute__((constructor)) static void use_clocks(void) {
  const char* path = getenv("S3L_CHAOS_CLOCKS");
  int fd = path != NULL ? open(path, O_RDWR | O_CLOEXEC) : -1;
  void* clocks = fd >= 0
                     ? mmap(NULL, sizeof(s3l_clocks_t), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)
                     : MAP_FAILED;
  if (clocks == MAP_FAILED)
    abort();
  close(fd);
  s3l_clocks_use(clocks);
}
