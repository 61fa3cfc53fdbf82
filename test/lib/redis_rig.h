/* test/lib/redis_rig.h: redis-server processes, and connections to them. */
#ifndef TEST_LIB_REDIS_RIG_H
#define TEST_LIB_REDIS_RIG_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "lib/proc.h"

/** Whether redis-server is installed. */
bool redis_is_there(void);
/** Starts one, empty, on loopback, and waits until it answers. `dir` is for its scratch files. */
proc_t* redis_start(procs_t* procs, int port, const char* dir);

/** A connection; waits end after PROC_PATIENCE_MS, or after `patience_ms`. */
typedef struct redis_conn_s {
  int fd;
  FILE* in;
} redis_conn_t;

/** Connects to loopback. False: refused. */
bool redis_open(redis_conn_t* conn, int port, int patience_ms);
void redis_close(redis_conn_t* conn);
/** Sends one command; `words` ends with NULL. False: the connection has ended. */
bool redis_send(redis_conn_t* conn, const char* const* words);
/** Reads one reply that is no array: its first character ('+', '-', ':', '$'), and the rest of it
 * into `text`. '\0': the connection has ended, or nothing came. A null is '_'. */
char redis_reply(redis_conn_t* conn, char* text, size_t size);
/** Reads the head of an array; -1: it is none. Its elements follow as replies. */
long redis_array(redis_conn_t* conn);

/** One command over a connection of its own, which must succeed. Valid until the next call. */
const char* redis_ask(int port, const char* const* words);
/** Waits until it is a replica that is in sync with its master. */
void redis_await_synced(procs_t* procs, int port);

#endif
