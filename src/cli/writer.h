/* cli/writer.h (L8): lines to a file descriptor, without ever waiting for whoever reads it.
 *
 * A full pipe, a terminal stopped with Ctrl-S or a hanging file system must not hold up renewals,
 * and O_NONBLOCK would be set for every process that shares the descriptor. So a thread of its own
 * writes, out of a bounded queue; when the queue is full, whole lines are dropped and counted. */
#ifndef S3L_CLI_WRITER_H
#define S3L_CLI_WRITER_H

#include <stddef.h>
#include <uv.h>

#define CLI_WRITER_CAPACITY (256u * 1024) /* some 800 events */

typedef struct cli_writer_s cli_writer_t;

/** Runs on the loop, once, when writing has failed for good (EPIPE: the reader has gone). */
typedef void (*cli_writer_error_cb)(void* arg, int err);

/** Starts writing to fd, which stays the caller's. `cb` may be NULL. Errors: UV_ENOMEM, what
 * uv_thread_create says.
 */
int cli_writer_open(cli_writer_t** writer, uv_loop_t* loop, int fd, cli_writer_error_cb cb,
                    void* arg);

/** Queues one line, to be written at once. Returns 0, or UV_ENOBUFS: dropped, no room. */
int cli_writer_line(cli_writer_t* writer, const char* line, size_t len);

/** Waits for the queue to be written, for at most flush_ms, and frees the writer (NULL is allowed).
 * The loop must run once more after it. A thread that hangs in write(2) is left behind: the process
 * is about to exit. */
void cli_writer_close(cli_writer_t* writer, uint64_t flush_ms);

#endif
