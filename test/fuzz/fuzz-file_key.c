/* The file store's names of files.
 *
 * The input is taken as a key, which must have a safe path that gives the key back; and as a path,
 * which must be refused unless it is the path of a key. */
#include "fuzz.h"
#include "store/file/key.h"

/* One directory or file: no hidden name, and a '+' at the end of directories only. A file can then
 * never be where another key needs a directory. */
static void check_part(s3l_span_t part, bool is_directory) {
  FUZZ_CHECK(part.n > 0 && part.n <= S3L_FILE_PART_MAX + 1 && part.p[0] != '.');
  for (size_t i = 0; i < part.n; i++) {
    char c = part.p[i];
    if (c == '+')
      FUZZ_CHECK(is_directory && i + 1 == part.n);
    else
      FUZZ_CHECK(c == '%' || c == '-' || c == '_' || c == '.' || c == '~' ||
                 (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'));
  }
  FUZZ_CHECK((part.p[part.n - 1] == '+') == is_directory);
}

static void check_path(const char* path) {
  const char* slash;
  for (; (slash = strchr(path, '/')) != NULL; path = slash + 1)
    check_part((s3l_span_t){path, (size_t)(slash - path)}, true);
  check_part(s3l_span_cstr(path), false);
}

static void check_key(const char* key) {
  char path[S3L_FILE_PATH_MAX];
  char back[S3L_STORE_KEY_MAX + 1];
  s3l_file_path(key, path);
  check_path(path);
  FUZZ_CHECK(s3l_file_key(s3l_span_cstr(path), back));
  FUZZ_CHECK(strcmp(back, key) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const fuzz_input_t in = {data, size};
  char key[S3L_STORE_KEY_MAX + 1];
  char path[S3L_FILE_PATH_MAX];
  char* text = fuzz_string(fuzz_rest(&in));
  if (text[0] != '\0' && strlen(text) <= S3L_STORE_KEY_MAX)
    check_key(text);
  free(text);
  if (s3l_file_key(fuzz_rest(&in), key)) {
    FUZZ_CHECK(key[0] != '\0' && strlen(key) <= S3L_STORE_KEY_MAX);
    s3l_file_path(key, path);
    FUZZ_CHECK(s3l_span_eq(s3l_span_cstr(path), fuzz_rest(&in)));
    check_path(path);
  }
  return 0;
}
