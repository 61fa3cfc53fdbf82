/* What the command line says. */
#ifndef TCP_PROXY_OPTIONS_H
#define TCP_PROXY_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct options_s {
  const char *store, *endpoint, *region, *ca_file; /* as the s3lect command takes them */
  const char* id;
  const char* listen;         /* where clients connect */
  const char* peer_listen;    /* where the other proxies connect */
  const char* advertise;      /* peer_listen, as the others reach it; NULL: as it is */
  const char* backend;        /* the replica beside this proxy */
  const char* metrics_listen; /* NULL: none */
  uint32_t hold_ms; /* by default a quarter more than the leader timeout: time to notice a crash,
                       for the clocks' drift, and to take over */
  uint32_t drain_ms;
  uint32_t connect_timeout_ms;
  uint32_t yield_after_ms; /* 0: the backend is not watched */
  uint32_t half_closed_ms; /* a connection that one side has ended, and on which nothing moves */
  uint32_t leader_timeout_ms, renew_ms, request_timeout_ms, frequent_ms, infrequent_ms;
  uint32_t max_connections; /* 0: not given */
  uint32_t buffer_bytes;
  bool proxy_protocol;
} options_t;

/** Reads the command line. Returns 0; else says what is wrong on stderr, or prints the help, and
 * returns -1, with the exit status in *status. */
int options_read(options_t* options, int argc, char** argv, int* status);

#endif
