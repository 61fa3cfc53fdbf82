/* s3lect-bench: see bench.h and docs/performance.md. */
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"
#include "util/span.h"

static const char help[] =
    "Usage: s3lect-bench http [--runs N]\n"
    "       s3lect-bench electors [--store memory|s3] [--electors N] [--renew MS] [--seconds N]\n"
    "       s3lect-bench size [--library FILE]\n"
    "       s3lect-bench failover [--count N | --quick] [--latency MS] [--svg FILE]\n"
    "\n"
    "  http       runs signed and unsigned GETs over warm connections, with this library and with\n"
    "             libcurl. What they cost is counted by valgrind: use test/bench/run.sh http\n"
    "  electors   many electors on one loop: late renewals, stalls of the loop, memory\n"
    "  size       size of the shared library; memory of a process with one elector over TLS\n"
    "  failover   how long it takes until somebody leads again, after SIGTERM and after SIGKILL, "
    "in\n"
    "             peer mode and in storage mode. Fails if two led at once\n"
    "\n"
    "  --runs N        requests of each kind (default 3)\n"
    "  --store WHICH   memory, or s3 (default): a fake S3 in another process\n"
    "  --electors N    default 10000\n"
    "  --renew MS      renewal interval (default 5000); the leader timeout is three times that\n"
    "  --seconds N     measure for that long (default 20)\n"
    "  --settle MS     spread the electors' start over that time (default: --renew)\n"
    "  --library FILE  the stripped shared library\n"
    "  --count N       hand-overs (default 200); half as many crashes\n"
    "  --quick         --count 5\n"
    "  --latency MS    how long the store takes for each request (default 20)\n"
    "  --svg FILE      draw the distributions\n";

static void refuse(const char* what, const char* value) {
  fprintf(stderr, "s3lect-bench: %s \"%s\" (see --help)\n", what, value);
  exit(2);
}

static unsigned number(const char* name, const char* text, unsigned max) {
  uint64_t value;
  if (!s3l_span_to_u64(s3l_span_cstr(text), &value) || value == 0 || value > max)
    refuse(name, text);
  return (unsigned)value;
}

static void take_options(int argc, char** argv, bench_options_t* o) {
  static const struct option known[] = {{"runs", required_argument, NULL, 'r'},
                                        {"store", required_argument, NULL, 's'},
                                        {"electors", required_argument, NULL, 'e'},
                                        {"renew", required_argument, NULL, 'i'},
                                        {"seconds", required_argument, NULL, 't'},
                                        {"settle", required_argument, NULL, 'u'},
                                        {"library", required_argument, NULL, 'l'},
                                        {"count", required_argument, NULL, 'c'},
                                        {"quick", no_argument, NULL, 'q'},
                                        {"latency", required_argument, NULL, 'd'},
                                        {"svg", required_argument, NULL, 'p'},
                                        {"help", no_argument, NULL, 'h'},
                                        {NULL, 0, NULL, 0}};
  int option;
  while ((option = getopt_long(argc, argv, "h", known, NULL)) != -1) {
    switch (option) {
    case 'r':
      o->runs = number("--runs", optarg, 1000);
      break;
    case 's':
      o->memory_store = strcmp(optarg, "memory") == 0;
      if (!o->memory_store && strcmp(optarg, "s3") != 0)
        refuse("--store", optarg);
      break;
    case 'e':
      o->electors = number("--electors", optarg, 1000 * 1000);
      break;
    case 'i':
      o->renew_ms = number("--renew", optarg, 1000 * 1000);
      break;
    case 't':
      o->seconds = number("--seconds", optarg, 100 * 1000);
      break;
    case 'u':
      o->settle_ms = number("--settle", optarg, 1000 * 1000);
      break;
    case 'l':
      o->library = optarg;
      break;
    case 'c':
      o->count = number("--count", optarg, 100 * 1000);
      break;
    case 'q':
      o->count = 5;
      break;
    case 'd':
      o->latency_ms = number("--latency", optarg, 500);
      break;
    case 'p':
      o->svg = optarg;
      break;
    case 'h':
      fputs(help, stdout);
      exit(0);
    default:
      exit(2);
    }
  }
}

int main(int argc, char** argv) {
  bench_options_t o = {.runs = 3,
                       .electors = 10000,
                       .renew_ms = 5000,
                       .seconds = 20,
                       .count = 200,
                       .latency_ms = 20};
  setvbuf(stdout, NULL, _IOLBF, 0);
  take_options(argc, argv, &o);
  if (optind + 1 != argc)
    refuse("one benchmark must be named, not", optind < argc ? argv[optind + 1] : "");
  signal(SIGPIPE, SIG_IGN); /* libcurl's OpenSSL may write to a closed socket */
  const char* which = argv[optind];
  if (strcmp(which, "http") == 0)
    return bench_http(&o);
  if (strcmp(which, "electors") == 0)
    return bench_electors(&o);
  if (strcmp(which, "size") == 0)
    return bench_size(&o);
  if (strcmp(which, "failover") == 0)
    return bench_failover(&o);
  refuse("no such benchmark:", which);
  return 2;
}
