/* test/lib/proc.h: programs under test: spawn them, read their lines, wait for them.
 *
 * Everything waits on events on a loop of its own per `procs_t`. A wait that sees nothing for
 * PROC_PATIENCE_MS is a hang: the test fails, after the output of all processes has been printed.
 * Processes that a test leaves behind are killed by procs_end. */
#ifndef TEST_LIB_PROC_H
#define TEST_LIB_PROC_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#define PROC_PATIENCE_MS 60000
#define PROC_MAX         16

typedef enum { PROC_OUT = 0, PROC_ERR = 1 } proc_stream_t;

typedef struct proc_s proc_t;

typedef struct procs_s {
  uv_loop_t loop;
  uv_timer_t patience;
  bool impatient;
  bool terminal; /* set by a test: standard output of what it starts is a terminal */
  bool detached; /* set by a test: what it starts from now on has no controlling terminal */
  proc_t* all[PROC_MAX];
  unsigned len;
} procs_t;

void procs_begin(procs_t* procs);
/** Kills what is left, and frees all. */
void procs_end(procs_t* procs);

/** Starts a program. argv ends with NULL; env ("NAME=value" strings, ends with NULL, may be NULL)
 * is put over this process's own environment. */
proc_t* proc_spawn(procs_t* procs, const char* const* argv, const char* const* env);

/** The next line on a stream that holds `match`, from where the last such call stopped. Fails the
 * test if the stream ends before there is one. Valid until the next call. */
const char* proc_line(proc_t* proc, proc_stream_t stream, const char* match);

/** As proc_line, but NULL where the stream ends, and only lines that are there by now if `now`. */
const char* proc_try_line(proc_t* proc, proc_stream_t stream, const char* match, bool now);

/** Starts looking at the stream from its beginning again. */
void proc_rewind(proc_t* proc, proc_stream_t stream);

/** Waits for the process to end, and its streams to: every process that holds them has ended, too.
 * Returns its exit status, or 128 + the signal that killed it. */
int proc_wait(proc_t* proc);

/** Frees a process that has ended and whose streams have, too. */
void proc_forget(proc_t* proc);

void proc_signal(proc_t* proc, int signum);
/** Sends the signal, then does as proc_wait. */
int proc_end(proc_t* proc, int signum);
int proc_pid(const proc_t* proc);

/** Runs the loop until `done` says so; it is asked after every event, and every 10 ms. */
void procs_until(procs_t* procs, bool (*done)(void* arg), void* arg);

/** Whether a program of that name is on the PATH. */
bool proc_on_path(const char* name);

/** A field of a line that is a flat JSON object; the test fails where it is missing. */
int64_t proc_json_i64(const char* line, const char* name);
/** Not unescaped. Valid until the next call. */
const char* proc_json_string(const char* line, const char* name);

#endif
