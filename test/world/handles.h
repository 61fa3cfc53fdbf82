/* world/handles.h: what the files of the simulated libuv share. */
#ifndef WORLD_HANDLES_H
#define WORLD_HANDLES_H

#include "world/socket.h"

enum { WORLD_ACTIVE = 1, WORLD_REF = 2, WORLD_CLOSING = 4, WORLD_READING = 8, WORLD_SHUT = 16 };

#define WORLD_HANDLE(h) ((uv_handle_t*)(h))
#define WORLD_LINK(q)   ((s3l_list_t*)(void*)(q))

void world_uv_init(uv_loop_t* loop, void* handle, uv_handle_type type);
world_host_t* world_uv_host(const void* handle);
/** The socket of a uv_tcp_t or uv_poll_t; NULL: it has none yet. */
world_sock_t* world_uv_sock(const void* handle);

/** Serves the sockets that are ready. */
void world_uv_run_ready(world_host_t* host);
/** Its socket closes, and its requests end with UV_ECANCELED when the handle's close does. */
void world_uv_close_stream(uv_stream_t* stream);
void world_uv_end_stream(uv_stream_t* stream);

#endif
