/* s3lect-bench: see bench.h and docs/performance.md. */
#include <getopt.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"
#include "util/span.h"

static const char help[] =
    "Usage: s3lect-bench http [--runs N]\n"
    "       s3lect-bench electors [--store memory|s3] [--electors N] [--renew MS] [--seconds N]\n"
    "       s3lect-bench scale [--electors N [--latency MS] [--silence MS] [--connections N]]\n"
    "                          [--store memory] [--seconds N]\n"
    "       s3lect-bench size [--library FILE]\n"
    "       s3lect-bench failover [--count N] [--crashes N] [--quick] [--latency MS]\n"
    "                             [--svg FILE]\n"
    "\n"
    "  http       runs requests over warm connections, plain and TLS, with this library and with\n"
    "             libcurl: their CPU time. valgrind counts instructions: test/bench/run.sh http\n"
    "  electors   runs many electors on one loop: late renewals, stalls of the loop, memory\n"
    "  scale      as many electors as a process can have: over a store with latency, with too few\n"
    "             connections, through a silence of the store; 100,000 over the memory store. "
    "With\n"
    "             --electors, one row of that table\n"
    "  size       size of the shared library; memory of a process with one elector over TLS\n"
    "  failover   time until there is a leader again, after SIGTERM and after SIGKILL, in peer "
    "mode\n"
    "             and in storage mode. Fails if two candidates lead at once\n"
    "\n"
    "  --runs N        requests of each kind (default 3), and thousands of them for CPU time\n"
    "  --store WHICH   memory, or s3 (default): a fake S3 in another process\n"
    "  --electors N    default 10000 (electors), a table (scale)\n"
    "  --renew MS      renewal interval (default 5000); the leader timeout is three times that\n"
    "  --seconds N     how long to measure (default 20; for the rows of scale without trouble, "
    "60)\n"
    "  --connections N of the store, at most (default: the store's)\n"
    "  --silence MS    for so long the store does not answer (default 0)\n"
    "  --settle MS     spread the electors' start over that time (default: --renew; scale: six "
    "times that)\n"
    "  --library FILE  the stripped shared library\n"
    "  --count N       hand-overs (default 200)\n"
    "  --crashes N     of a leader (default: half as many), about five seconds each\n"
    "  --quick         --count 5\n"
    "  --latency MS    the store's delay for each request (default 20)\n"
    "  --svg FILE      draw the distributions\n";

static void refuse(const char* what, const char* value) {
  fprintf(stderr, "s3lect-bench: %s \"%s\" (see --help)\n", what, value);
  exit(2);
}

static void set_store(bench_options_t* o, const char* text) {
  o->memory_store = strcmp(text, "memory") == 0;
  if (!o->memory_store && strcmp(text, "s3") != 0)
    refuse("--store", text);
}

static void set_quick(bench_options_t* o, const char* text) {
  o->count = 5;
}

static void print_help(bench_options_t* o, const char* text) {
  fputs(help, stdout);
  exit(0);
}

/* An option sets a number, which is 1 to `max`, or a text, or calls a function. */
static const struct {
  const char* name;
  int has_value;
  size_t at;
  unsigned max; /* 0: a text */
  void (*set)(bench_options_t* o, const char* text);
} table[] = {
    {"runs", required_argument, offsetof(bench_options_t, runs), 1000, NULL},
    {"store", required_argument, 0, 0, set_store},
    {"electors", required_argument, offsetof(bench_options_t, electors), 1000 * 1000, NULL},
    {"renew", required_argument, offsetof(bench_options_t, renew_ms), 1000 * 1000, NULL},
    {"seconds", required_argument, offsetof(bench_options_t, seconds), 100 * 1000, NULL},
    {"connections", required_argument, offsetof(bench_options_t, connections), 10000, NULL},
    {"silence", required_argument, offsetof(bench_options_t, silence_ms), 1000 * 1000, NULL},
    {"settle", required_argument, offsetof(bench_options_t, settle_ms), 1000 * 1000, NULL},
    {"library", required_argument, offsetof(bench_options_t, library), 0, NULL},
    {"count", required_argument, offsetof(bench_options_t, count), 100 * 1000, NULL},
    {"crashes", required_argument, offsetof(bench_options_t, crashes), 100 * 1000, NULL},
    {"quick", no_argument, 0, 0, set_quick},
    {"latency", required_argument, offsetof(bench_options_t, latency_ms), 500, NULL},
    {"svg", required_argument, offsetof(bench_options_t, svg), 0, NULL},
    {"help", no_argument, 0, 0, print_help},
};

#define OPTIONS (sizeof(table) / sizeof(table[0]))

static void take_options(int argc, char** argv, bench_options_t* o) {
  struct option known[OPTIONS + 1] = {0};
  int option, i;
  for (size_t k = 0; k < OPTIONS; k++)
    known[k] = (struct option){table[k].name, table[k].has_value, NULL, 0};
  while ((option = getopt_long(argc, argv, "", known, &i)) != -1) {
    uint64_t value;
    if (option == '?') /* getopt_long has printed what is wrong */
      exit(2);
    void* to = (char*)o + table[i].at;
    if (table[i].set != NULL)
      table[i].set(o, optarg);
    else if (table[i].max == 0)
      *(const char**)to = optarg;
    else if (s3l_span_to_u64(s3l_span_cstr(optarg), &value) && value > 0 && value <= table[i].max)
      *(unsigned*)to = (unsigned)value;
    else
      refuse(table[i].name, optarg);
  }
}

int main(int argc, char** argv) {
  bench_options_t o = {.runs = 3, .renew_ms = 5000, .count = 200, .latency_ms = 20};
  setvbuf(stdout, NULL, _IOLBF, 0);
  take_options(argc, argv, &o);
  if (optind + 1 != argc)
    refuse("one benchmark must be named, not", optind < argc ? argv[optind + 1] : "");
  signal(SIGPIPE, SIG_IGN); /* libcurl's OpenSSL may write to a closed socket */
  static const struct {
    const char* name;
    int (*run)(const bench_options_t* options);
  } benchmarks[] = {{"http", bench_http},
                    {"electors", bench_electors},
                    {"scale", bench_scale},
                    {"size", bench_size},
                    {"failover", bench_failover}};
  for (size_t i = 0; i < sizeof(benchmarks) / sizeof(benchmarks[0]); i++)
    if (strcmp(argv[optind], benchmarks[i].name) == 0)
      return benchmarks[i].run(&o);
  refuse("no such benchmark:", argv[optind]);
  return 2;
}
