/* The driver of a fuzz target where libFuzzer is not: runs each file of the directories that are
 * named, once. */
#include <dirent.h>
#include <errno.h>

#include "fuzz.h"

static unsigned run_file(const char* path) {
  FILE* file = fopen(path, "rb");
  if (file == NULL || fseek(file, 0, SEEK_END) != 0) {
    fprintf(stderr, "%s: %s\n", path, strerror(errno));
    exit(1);
  }
  long size = ftell(file);
  rewind(file);
  /* Exactly as large as the input, for sanitizers to see what lies behind it. */
  uint8_t* data = malloc(size > 0 ? (size_t)size : 1);
  if (size < 0 || data == NULL || fread(data, 1, (size_t)size, file) != (size_t)size) {
    fprintf(stderr, "%s: cannot be read\n", path);
    exit(1);
  }
  fclose(file);
  printf("%s (%ld bytes)\n", path, size);
  fflush(stdout); /* names the input that ends the process */
  (void)LLVMFuzzerTestOneInput(data, (size_t)size);
  free(data);
  return 1;
}

static unsigned run_directory(const char* path) {
  char file[4096];
  unsigned count = 0;
  DIR* dir = opendir(path);
  if (dir == NULL) {
    fprintf(stderr, "%s: %s\n", path, strerror(errno));
    exit(1);
  }
  for (struct dirent* e = readdir(dir); e != NULL; e = readdir(dir)) {
    if (e->d_name[0] == '.')
      continue;
    snprintf(file, sizeof(file), "%s/%s", path, e->d_name);
    count += run_file(file);
  }
  closedir(dir);
  return count;
}

int main(int argc, char** argv) {
  unsigned count = 0;
  for (int i = 1; i < argc; i++)
    count += run_directory(argv[i]);
  printf("%u inputs\n", count);
  return count > 0 ? 0 : 1;
}
