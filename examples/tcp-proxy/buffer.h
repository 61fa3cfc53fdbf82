/* buffer: blocks of bytes under way, all of one size, shared by all connections.
 *
 * Every read goes into the one spare block. What the other side takes at once leaves it empty
 * again, so that connections without anything to wait for own no memory; a rest makes the block the
 * connection's own until it has been passed on. No byte is copied. */
#ifndef TCP_PROXY_BUFFER_H
#define TCP_PROXY_BUFFER_H

#include <stddef.h>
#include <stdint.h>

#define BUFFERS_KEPT 64 /* free blocks that are not given back to the system */

typedef struct buffer_s {
  struct buffer_s* next;
  size_t at, end; /* bytes not yet passed on */
  uint8_t bytes[];
} buffer_t;

typedef struct buffers_s {
  size_t size;
  buffer_t* free;
  uint32_t free_len, used;
} buffers_t;

/** An empty block, or NULL. */
buffer_t* buffer_take(buffers_t* buffers);
void buffer_give(buffers_t* buffers, buffer_t* buffer);
void buffers_end(buffers_t* buffers);

#endif
