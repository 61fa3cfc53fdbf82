/* world/service.c: see service.h. */
#include "world/service.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/rnd.h"
#include "world/node.h"
#include "world/situations.h"
#include "world/socket.h"

struct world_service_s world_service;

typedef struct conn_s {
  s3l_test_conn_t tcp; /* first */
  unsigned ends;       /* of "\r\n\r\n", seen so far */
} conn_t;

static void answer(s3l_test_conn_t* c) {
  char body[256];
  char head[160];
  char until[32];
  char date[40];
  struct tm tm;
  int64_t minutes = sim_between(&world_service.host->random, 8, 60);
  time_t t = (time_t)(world_wall_ms(world_service.host) / 1000 + minutes * 60);
  (void)gmtime_r(&t, &tm);
  (void)strftime(until, sizeof(until), "%Y-%m-%dT%H:%M:%SZ", &tm);
  int n = snprintf(body, sizeof(body),
                   "{\"AccessKeyId\":\"%s\",\"SecretAccessKey\":\"%s\",\"Token\":\"%s\","
                   "\"Expiration\":\"%s\"}",
                   WORLD_ROLE_KEY, WORLD_ROLE_SECRET, WORLD_ROLE_TOKEN, until);
  t = (time_t)(world_wall_ms(world_service.host) / 1000);
  (void)gmtime_r(&t, &tm);
  (void)strftime(date, sizeof(date), "%a, %d %b %Y %H:%M:%S GMT", &tm);
  int h = snprintf(head, sizeof(head),
                   "HTTP/1.1 200 OK\r\nDate: %s\r\nContent-Type: application/json\r\n"
                   "Content-Length: %d\r\n\r\n",
                   date, n);
  s3l_test_conn_send(c, head, (size_t)h);
  s3l_test_conn_send(c, body, (size_t)n);
  if (++world_service.answers > 2 * WORLD_NODES)
    world_meet(WORLD_MET_KEYS_RENEWED);
}

/* Requests have no body: each ends with an empty line. */
static void on_data(s3l_test_conn_t* c, const char* p, size_t n) {
  static const char end[] = "\r\n\r\n";
  conn_t* conn = (conn_t*)(void*)c;
  for (size_t i = 0; i < n; i++) {
    conn->ends = p[i] == end[conn->ends] ? conn->ends + 1 : p[i] == '\r';
    if (conn->ends == 4) {
      conn->ends = 0;
      answer(c);
    }
  }
}

static void on_end(s3l_test_conn_t* c, int status) {
  (void)status;
  s3l_test_conn_close(c);
}

void world_service_begin(uint64_t seed) {
  struct sockaddr_storage address = {0};
  struct sockaddr_in* in = (struct sockaddr_in*)(void*)&address;
  memset(&world_service, 0, sizeof(world_service));
  world_service.host = world_host_new(WORLD_SERVICE_ADDRESS, WORLD_SERVICE_MACHINE, seed + 7);
  world_net.host_at[WORLD_SERVICE_ADDRESS & 255] = world_service.host;
  world_host_t* was = world_enter(world_service.host);
  s3l_test_server_init(&world_service.server, &world_service.host->loop, sizeof(conn_t));
  world_service.server.on_data = on_data;
  world_service.server.on_end = on_end;
  in->sin_family = AF_INET;
  in->sin_port = htons(80);
  if (s3l_test_server_listen(&world_service.server, &address) != 0)
    abort();
  world_leave(was);
}

void world_service_end(void) {
  world_host_t* was = world_enter(world_service.host);
  s3l_test_server_close(&world_service.server, true);
  world_wake(world_service.host);
  world_leave(was);
  while (world_service.server.open > 0)
    world_run_until(world.now + WORLD_S);
  world_net.host_at[WORLD_SERVICE_ADDRESS & 255] = NULL;
  world_host_end(world_service.host);
}
