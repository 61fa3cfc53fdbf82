/* bench/bench.h: shared by the benchmarks. s3lect-bench measures and prints. It fails for no
 * figure, so that no test depends on how fast or how busy a machine is. Its options are in main.c.
 */
#ifndef S3L_BENCH_BENCH_H
#define S3L_BENCH_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <uv.h>

#include "s3lect.h"

#define BENCH_BUCKET "bench"
#define BENCH_KEY    "locks/bench.json"

typedef struct bench_options_s {
  unsigned runs;        /* http */
  unsigned electors;    /* electors, scale; 0: the benchmark's own */
  unsigned renew_ms;    /* electors, scale */
  unsigned seconds;     /* electors, scale; 0: the benchmark's own */
  bool memory_store;    /* electors, scale: in place of the fake S3 */
  unsigned connections; /* electors, scale: of the store, at most; 0: its default */
  unsigned silence_ms;  /* scale: of the store */
  unsigned settle_ms;   /* electors: over what time they start */
  const char* library;  /* size: the stripped shared library */
  unsigned count;       /* failover: hand-overs */
  unsigned crashes;     /* failover; 0: half as many */
  unsigned latency_ms;  /* failover, scale: of the fake S3 */
  const char* svg;      /* failover: where to draw to, or NULL */
} bench_options_t;

int bench_http(const bench_options_t* options);
int bench_electors(const bench_options_t* options);
int bench_scale(const bench_options_t* options);
int bench_size(const bench_options_t* options);
int bench_failover(const bench_options_t* options);

/** Ends the program with a message unless `ok`. */
void bench_require(bool ok, const char* what);

/* ---- Other processes ---- */

/** A program whose standard output is read. */
typedef struct bench_child_s {
  int pid;
  FILE* out;
} bench_child_t;

/** `environment` replaces this process's own, or is NULL. */
void bench_child_start(bench_child_t* child, const char* const* argv,
                       const char* const* environment);
void bench_child_stop(const bench_child_t* child);

/** A fake S3. */
typedef struct bench_server_s {
  bench_child_t child;
  char url[128];
} bench_server_t;

/** Starts s3lect-fakes3 with these options more (NULL-terminated). */
void bench_server_start(bench_server_t* server, const char* const* options);
void bench_server_stop(const bench_server_t* server);

/** Reads its state (GET /_fakes3/state) into `reply`; returns the length. */
size_t bench_server_state(const bench_server_t* server, char* reply, size_t cap);

/** A store on it; `max_connections` 0: the default. */
void bench_store_open(uv_loop_t* loop, s3lect_store_t* store, const bench_server_t* server,
                      const char* ca_file, unsigned max_connections);

/* ---- Numbers ---- */

/** Bytes that the library has allocated and not freed, after bench_heap_install. */
void bench_heap_install(void);
size_t bench_heap_live(void);

/** A line of /proc/PID/status in kB, such as "VmRSS:"; 0 if there is none. */
size_t bench_proc_kb(int pid, const char* name);

#endif
