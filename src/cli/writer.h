/* cli/writer.h (L8): writes lines to a file descriptor without blocking the loop.
 *
 * A full pipe, a terminal stopped with Ctrl-S or a hanging file system must not delay renewals, and
 * O_NONBLOCK would affect every process that shares the descriptor. So a separate thread writes
 * from a bounded queue. When the queue is full, whole lines are dropped. */
#ifndef S3L_CLI_WRITER_H
#define S3L_CLI_WRITER_H

#include <stddef.h>
#include <uv.h>

#define CLI_WRITER_CAPACITY (256u * 1024) /* some 800 events */

typedef struct cli_writer_s cli_writer_t;

/** Runs on the loop, once, when writing has failed (EPIPE: the reader has gone). */
typedef void (*cli_writer_error_cb)(void* arg, int err);

/** Starts writing to fd, which the caller keeps. `cb` may be NULL. Errors: UV_ENOMEM, or
 * uv_thread_create's. */
int cli_writer_open(cli_writer_t** writer, uv_loop_t* loop, int fd, cli_writer_error_cb cb,
                    void* arg);

/** Queues one line. Returns 0, or UV_ENOBUFS if there is no room: the line is dropped. */
int cli_writer_line(cli_writer_t* writer, const char* line, size_t len);

/** Waits at most flush_ms until the queue is written, and frees the writer (NULL is allowed). The
 * loop must run once more afterwards. A thread that hangs in write(2) is left behind: the process
 * is about to exit. */
void cli_writer_close(cli_writer_t* writer, uint64_t flush_ms);

#endif
