/* tube: pipes through which the kernel moves bytes from socket to socket (splice(2)), without
 * copying them into this process. What it spares is two copies of each byte; what it costs is a
 * pipe, so it is for connections with much to say. Shared by all of them, as blocks are (buffer.h).
 * Where the system has no splice, or no more pipes, tube_take says so, and blocks are used. */
#ifndef TCP_PROXY_TUBE_H
#define TCP_PROXY_TUBE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define TUBE_BYTES (1024 * 1024) /* at most in one */
#define TUBES_KEPT 64            /* empty ones that are not closed */
#define TUBES_MAX  128           /* two files each; beyond that, blocks */

typedef struct tube_s {
  struct tube_s* next;
  int in, out;
  size_t held; /* bytes in it */
} tube_t;

typedef struct tubes_s {
  tube_t* free;
  uint32_t free_len, used;
} tubes_t;

/** An empty one, or NULL. */
tube_t* tube_take(tubes_t* tubes);
/** With bytes in it, too, which are thrown away. */
void tube_give(tubes_t* tubes, tube_t* tube);
void tubes_end(tubes_t* tubes);

/** Moves what there is from a socket into an empty tube, and from the tube into a socket. As recv
 * and send: how many bytes, 0 (fill: the end), or -1 and errno. */
ssize_t tube_fill(tube_t* tube, int fd);
ssize_t tube_pour(tube_t* tube, int fd);

#endif
