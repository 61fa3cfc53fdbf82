#include "lib/dir_rig.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/test.h"

s3l_dir_rig_t s3l_dir;

int s3l_dir_make(void** state) {
  snprintf(s3l_dir.path, sizeof(s3l_dir.path), "/tmp/s3lect-dir-XXXXXX");
  assert_non_null(mkdtemp(s3l_dir.path));
  return 0;
}

/* Removes the directory with what is in it, one level of directories included. */
static void remove_tree(const char* path) {
  DIR* d = opendir(path);
  char name[4096];
  assert_non_null(d);
  for (const struct dirent* e; (e = readdir(d)) != NULL;) {
    if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
      continue;
    snprintf(name, sizeof(name), "%s/%s", path, e->d_name);
    if (unlink(name) != 0)
      remove_tree(name);
  }
  closedir(d);
  assert_int_equal(rmdir(path), 0);
}

int s3l_dir_remove(void** state) {
  remove_tree(s3l_dir.path);
  return 0;
}

void s3l_dir_on_close(s3lect_store_t* store) {
  s3l_dir.closed++;
}

void s3l_dir_open(void) {
  s3l_dir.closed = 0;
  memset(&s3l_dir.store, 0, sizeof(s3l_dir.store));
  memset(&s3l_dir.r, 0, sizeof(s3l_dir.r));
  assert_int_equal(uv_loop_init(&s3l_dir.loop), 0);
  assert_int_equal(s3lect_store_file_init(&s3l_dir.loop, &s3l_dir.store, s3l_dir.path, NULL), 0);
  s3l_dir.suite = (s3l_store_suite_t){.loop = &s3l_dir.loop,
                                      .store = &s3l_dir.store,
                                      .timeout_ms = 20000,
                                      .fresh_etags = true,
                                      .guarded_deletes = true,
                                      .clear_conflicts = true};
}

void s3l_dir_close(void) {
  s3lect_store_close(&s3l_dir.store, s3l_dir_on_close);
  assert_int_equal(s3l_dir.closed, 0);
  assert_int_equal(uv_run(&s3l_dir.loop, UV_RUN_DEFAULT), 0);
  assert_int_equal(s3l_dir.closed, 1);
  assert_int_equal(uv_loop_close(&s3l_dir.loop), 0);
}

const s3lect_store_result_t* s3l_dir_get(const char* key, const char* unless_etag) {
  return s3l_suite_get(&s3l_dir.suite, &s3l_dir.r, key, unless_etag);
}

const s3lect_store_result_t* s3l_dir_put(const char* key, uint32_t condition, const char* etag,
                                         const char* body) {
  return s3l_suite_put(&s3l_dir.suite, &s3l_dir.r, key, condition, etag, body);
}

const s3lect_store_result_t* s3l_dir_list(void) {
  s3l_suite_prepare(&s3l_dir.suite, &s3l_dir.r, "any");
  s3l_dir.r.req.key = "";
  s3l_dir.r.req.max_keys = 10;
  return s3l_suite_do(&s3l_dir.r, s3lect_store_list);
}

char* s3l_dir_file(const char* name) {
  static char path[4096];
  snprintf(path, sizeof(path), "%s/%s", s3l_dir.path, name);
  return path;
}

void s3l_dir_write(const char* name, const char* text) {
  FILE* f = fopen(s3l_dir_file(name), "we");
  assert_non_null(f);
  assert_true(fputs(text, f) >= 0);
  assert_int_equal(fclose(f), 0);
}

const char* s3l_dir_read(const char* name) {
  static char text[4096];
  FILE* f = fopen(s3l_dir_file(name), "re");
  size_t n = f != NULL ? fread(text, 1, sizeof(text) - 1, f) : 0;
  text[n] = '\0';
  if (f != NULL)
    fclose(f);
  return text;
}
