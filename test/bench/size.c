/* bench/size.c: the size of the shared library, and the memory of a process with one elector over
 * TLS. That process is the s3lect command, since this program also contains libcurl. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench/bench.h"

#define LINES_MAX 50

typedef struct rss_s {
  size_t all_kb;
  size_t anonymous_kb; /* what the process has for itself: heap, stacks, written data */
} rss_t;

/* Leads and renews a few times, then looks at what the process has resident. */
static rss_t measure_rss(const bench_server_t* server, const char* ca_file) {
  const char* const argv[] = {BENCH_CLI,          "elect",     "--store",    "s3://bench/lock",
                              "--endpoint",       server->url, "--ca-file",  ca_file,
                              "--renew",          "100ms",     "--frequent", "100ms",
                              "--leader-timeout", "2s",        NULL};
  static const char* const environment[] = {
      "AWS_ACCESS_KEY_ID=test", "AWS_SECRET_ACCESS_KEY=testtest", "AWS_REGION=us-east-1", NULL};
  bench_child_t child;
  char line[2048];
  int renewals = 0;
  bench_child_start(&child, argv, environment);
  for (int i = 0; i < LINES_MAX && renewals < 10; i++) {
    bench_require(fgets(line, sizeof(line), child.out) != NULL, "the elector ended");
    renewals += strstr(line, "\"renewed\"") != NULL;
  }
  bench_require(renewals == 10, "the elector does not renew");
  rss_t rss = {bench_proc_kb(child.pid, "VmRSS:"), bench_proc_kb(child.pid, "RssAnon:")};
  bench_child_stop(&child);
  return rss;
}

/* Appends a file; false if there is none. */
static bool append(FILE* to, const char* path) {
  char buf[4096];
  size_t n;
  FILE* from = fopen(path, "r");
  if (from == NULL)
    return false;
  while ((n = fread(buf, 1, sizeof(buf), from)) > 0)
    bench_require(fwrite(buf, 1, n, to) == n, "cannot write a file");
  fclose(from);
  return true;
}

static void print_rss(const char* what, rss_t rss) {
  printf("resident, %-29s %5.1f MiB, of it %.1f MiB its own, the rest libraries\n", what,
         (double)rss.all_kb / 1024, (double)rss.anonymous_kb / 1024);
}

/* The same with all the authorities of the system in the CA file. */
static void measure_bundle(const bench_server_t* server, const char* ca, const char* bundle) {
  FILE* file = fopen(bundle, "w");
  bench_require(file != NULL && append(file, ca), "cannot write a file");
  bool has_system = append(file, "/etc/ssl/certs/ca-certificates.crt");
  bench_require(fclose(file) == 0, "cannot write a file");
  if (has_system)
    print_rss("the system's authorities, too:", measure_rss(server, bundle));
}

int bench_size(const bench_options_t* o) {
  char dir[] = "/tmp/s3lect-bench-XXXXXX";
  char ca[sizeof(dir) + 16], bundle[sizeof(dir) + 16];
  struct stat file;
  bench_server_t server;
  const char* library = o->library != NULL ? o->library : BENCH_LIBRARY;
  bench_require(mkdtemp(dir) != NULL, "cannot make a directory");
  snprintf(ca, sizeof(ca), "%s/ca.pem", dir);
  snprintf(bundle, sizeof(bundle), "%s/all.pem", dir);
  const char* const options[] = {"--tls-self", dir, NULL};
  if (stat(library, &file) == 0)
    printf("shared library, stripped:               %5.1f KiB\n", (double)file.st_size / 1024);
  else
    printf("shared library, stripped:               skipped: %s is not there\n", library);
  bench_server_start(&server, options);
  print_rss("s3lect elect over TLS:", measure_rss(&server, ca));
  measure_bundle(&server, ca, bundle);
  bench_server_stop(&server);
  (void)unlink(ca);
  (void)unlink(bundle);
  (void)rmdir(dir);
  return 0;
}
