/* test/lib/s3proc.h: a fake S3 and s3lect commands as processes, for tests from end to end.
 *
 * One s3proc_t is a fake S3 in a process of its own (so that SIGSTOP and SIGKILL make outages of
 * it), a scratch folder, and the options that every s3lect command of the test gets, by the
 * protocol and the store of this run (lib/protocol.h, lib/any_store.h). In place of the fake it may
 * stand on a file of the scratch folder. */
#ifndef TEST_LIB_S3PROC_H
#define TEST_LIB_S3PROC_H

#include "lib/proc.h"

/* Short, but such that a loaded machine under ASan keeps up. Leader timeout 2.5 s. */
#define S3PROC_T_MS 2500

typedef struct s3proc_s {
  procs_t procs;
  const char* build_dir;
  char dir[64];
  char store[128]; /* --store */
  char url[128];   /* the fake's endpoint; "" where there is none */
  proc_t* fake;
  bool versioned;
  const char* const* env; /* put over this process's environment, beside credentials; or NULL */
  const char* through; /* shell commands, of which the last is exec "$@": how s3lect is started */
} s3proc_t;

/** Starts a fake S3; `buckets` is its --buckets, or NULL for buckets that appear on use. */
void s3proc_begin(s3proc_t* s3, const char* build_dir, const char* buckets);
/** The same with a bucket that keeps all versions. */
void s3proc_begin_versioned(s3proc_t* s3, const char* build_dir);
/** The same with the lockfile on disk, and no fake. */
void s3proc_begin_file(s3proc_t* s3, const char* build_dir);
/** The same with the real store that the environment names (S3LECT_TEST_BUCKET, AWS_*; or
 * S3LECT_TEST_STORE, a URL without its key). */
void s3proc_begin_real(s3proc_t* s3, const char* build_dir);
void s3proc_end(s3proc_t* s3);

/** Adds a fault rule, as JSON; see docs/fakes3.md. */
void s3proc_fault(s3proc_t* s3, const char* json);

/** Starts a relay before the fake, to be frozen by SIGSTOP, and gives the relay's URL; `name` is
 * that of a file in the scratch folder. */
proc_t* s3proc_relay(s3proc_t* s3, const char* name, char* url, size_t cap);

/** Kills the fake and starts an empty one at the same port. */
void s3proc_replace_fake(s3proc_t* s3);

/** Starts `s3lect COMMAND` on lock.json of the store with the options above and those given (ending
 * with NULL); `id` may be NULL. */
proc_t* s3proc_s3lect(s3proc_t* s3, const char* command, const char* id, const char* const* more);

/** Runs `s3lect status` with more options; returns its exit status, its first line of output in
 * `line` (which may be NULL). */
int s3proc_status(s3proc_t* s3, const char* const* more, char line[2048]);

/** Puts an object at the lockfile's place, or at that of epoch file 1000, whatever is there. */
void s3proc_put(s3proc_t* s3, const char* body);
/** The same with a released record of epoch 1000: with none, or none with an epoch, the first
 * leader would have to wait for longer. */
void s3proc_seed(s3proc_t* s3);
/** "lockfile", or "epoch file". */
const char* s3proc_what(void);
/** What a shell command must say of the protocol, and of the request timeout that goes with it. */
const char* s3proc_protocol_options(void);

/** Path of a file in the scratch folder. Valid until the next call. */
const char* s3proc_path(const s3proc_t* s3, const char* name);
/** What is in it; "" if there is none. Valid until the next call. */
const char* s3proc_text(const s3proc_t* s3, const char* name);
/** Waits until a file of the scratch folder has so many lines, or holds a text. */
void s3proc_await_lines(s3proc_t* s3, const char* name, int count);
void s3proc_await_text(s3proc_t* s3, const char* name, const char* text);

#endif
