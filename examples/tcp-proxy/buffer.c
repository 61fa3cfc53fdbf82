#include "buffer.h"

#include <stdlib.h>

buffer_t* buffer_take(buffers_t* buffers) {
  buffer_t* buffer = buffers->free;
  if (buffer != NULL) {
    buffers->free = buffer->next;
    buffers->free_len--;
  } else if ((buffer = malloc(sizeof *buffer + buffers->size)) == NULL) {
    return NULL;
  }
  buffer->at = buffer->end = 0;
  buffers->used++;
  return buffer;
}

void buffer_give(buffers_t* buffers, buffer_t* buffer) {
  buffers->used--;
  if (buffers->free_len == BUFFERS_KEPT) {
    free(buffer);
    return;
  }
  buffer->next = buffers->free;
  buffers->free = buffer;
  buffers->free_len++;
}

void buffers_end(buffers_t* buffers) {
  while (buffers->free != NULL) {
    buffer_t* buffer = buffers->free;
    buffers->free = buffer->next;
    free(buffer);
  }
}
