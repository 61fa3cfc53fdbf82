/* A Go process reads what we write: our answer, our lockfile and our release, decoded by Go's own
 * encoding/json. Skipped where there is no Go, which knows the lockfile only.
 *
 * ctest labels: no-valgrind one-protocol slow computes */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/peer_rig.h"
#include "lib/proc.h"
#include "lib/test.h"
#include "lib/wait.h"

static s3l_house_t h;
static char dir[64];

static const char* file(const char* name) {
  static char path[4][128];
  static unsigned next;
  char* out = path[next++ % 4];
  snprintf(out, sizeof path[0], "%s/%s", dir, name);
  return out;
}

static void save(const char* name, const char* p, size_t n) {
  FILE* f = fopen(file(name), "w");
  assert_non_null(f);
  assert_int_equal(fwrite(p, 1, n, f), n);
  assert_int_equal(fclose(f), 0);
}

static void on_read(s3lect_store_req_t* req, const s3lect_store_result_t* r) {
  unsigned* done = req->data;
  assert_int_equal(r->status, 0);
  save(*done == 0 ? "lockfile" : "release", r->body, r->body_len);
  ++*done;
}

static void read_lockfile(unsigned* done) {
  s3lect_store_req_t req = {.data = done, .key = h.o[0].lockfile_path, .cb = on_read};
  unsigned want = *done + 1;
  req.timeout_ms = S3L_WAIT_MS;
  assert_int_equal(s3lect_store_get(&h.store, &req), 0);
  s3l_wait_count(&h.loop, done, want, "the lockfile");
}

static void test_go_reads_ours(void** state) {
  char body[S3LECT_PEER_BODY_MAX], expected[256], cache[512];
  size_t len;
  unsigned done = 0;
  procs_t procs;
  s3lect_record_t record;
  s3l_house_init(&h, NULL);
  s3l_house_open(&h);
  h.o[0].server_id = "caf\xc3\xa9 \"1\" \\ </script>"; /* what JSON has to escape, or need not */
  h.o[0].server_addr = "[2001:db8::1]:8443";
  s3l_house_lead(&h, 0);
  assert_int_equal(s3lect_elector_peer_response(&h.e[0], "GET", body, sizeof body, &len), 200);
  save("answer", body, len);
  assert_int_equal(s3lect_record_parse(body, len, &record), 0);
  read_lockfile(&done);
  s3l_house_close_elector(&h, 0);
  read_lockfile(&done);
  s3l_house_end(&h);

  snprintf(cache, sizeof cache, "GOCACHE=%s/go-cache", S3L_BUILD_DIR);
  procs_begin(&procs);
  proc_t* go =
      proc_spawn(&procs,
                 (const char*[]){"go", "run", S3L_TEST_DIR "/peer/go/decode.go", file("answer"),
                                 file("lockfile"), file("release"), NULL},
                 (const char*[]){"GO111MODULE=off", "GOFLAGS=", "GOTOOLCHAIN=local", cache, NULL});
  snprintf(expected, sizeof expected, "id=%s addr=%s ms=%lld released=false", h.o[0].server_id,
           h.o[0].server_addr, (long long)record.last_updated_ms);
  assert_string_equal(proc_line(go, PROC_OUT, ""), expected);
  assert_string_equal(proc_line(go, PROC_OUT, ""), expected);
  snprintf(expected, sizeof expected, "id=%s addr=%s ms=-62135596800000 released=true",
           h.o[0].server_id, h.o[0].server_addr);
  assert_string_equal(proc_line(go, PROC_OUT, ""), expected);
  assert_int_equal(proc_wait(go), 0);
  procs_end(&procs);
}

static int make_dir(void** state) {
  const char* tmp = getenv("TMPDIR");
  snprintf(dir, sizeof dir, "%s/s3lect-go-XXXXXX", tmp != NULL ? tmp : "/tmp");
  return mkdtemp(dir) != NULL ? 0 : -1;
}

static int remove_dir(void** state) {
  static const char* const files[] = {"answer", "lockfile", "release"};
  for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
    (void)unlink(file(files[i]));
  return rmdir(dir);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_go_reads_ours)};
  if (!proc_on_path("go")) {
    printf("skipped: there is no go on the PATH\n");
    return 77;
  }
  return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
