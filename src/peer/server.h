/* peer/server.h: answers followers that ask whether an elector leads.
 *
 * Vocabulary
 *   registration  one election at the server, under its path. Its state decides the answer:
 *     leads       200 with the record; if the client asked to wait, the request is held
 *     releasing   it has just stopped leading, and its release is on its way to the store: requests
 *                 are held, since an answer would send the followers to the store too early
 *     away        404
 *     granted     the same, but the candidate's own claim stands in the store: 200 with that
 *   candidacy     what a held question says that its sender would lead by (core/grant.h). Only that
 *                 of a client who has shown a certificate counts, and of one sender the last
 *
 * Invariants
 *   - a held request is answered when its registration has stopped leading and has released, when
 *     its leader publishes another value, when its time is over, or when the registration is
 *     removed; whichever comes first;
 *   - an answer is what the owner says at that moment, never an older one;
 *   - a request that may have been sent before the last change is not held: who waits would not
 *     learn of that change.
 *
 * Paths are compared as sent, without their query. */
#ifndef S3L_PEER_SERVER_H
#define S3L_PEER_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "http/server.h"
#include "s3lect/record.h"
#include "util/list.h"

/* How long a request is held for a registration that is releasing. Followers give up after three
 * seconds. */
#define S3L_PEER_PARTING_MS 2000

typedef struct s3l_peer_server_s s3l_peer_server_t;
typedef struct s3l_peer_registration_s s3l_peer_registration_t;

typedef enum {
  S3L_REGISTRATION_AWAY = 0,
  S3L_REGISTRATION_RELEASING,
  S3L_REGISTRATION_GRANTED, /* away, and the candidate's own claim stands in the store */
  S3L_REGISTRATION_LEADS
} s3l_registration_state_t;

typedef enum {
  S3L_PAGE_METRICS = 1,
  S3L_PAGE_HEALTH = 2, /* /livez, /readyz */
  S3L_PAGE_LEADER = 4,
  S3L_PAGE_ALL = 7
} s3l_peer_page_t;

struct s3l_peer_registration_s {
  /* Set by the owner before add. */
  const char* path;
  /* The state now, as it concerns a candidate of that incarnation ("": anybody); of LEADS and
   * GRANTED also writes the answer's body. `cap` is S3LECT_PEER_BODY_MAX. */
  s3l_registration_state_t (*answer)(s3l_peer_registration_t* registration, const char* candidate,
                                     char* body, size_t cap, size_t* len);

  /* The server's. */
  s3l_peer_server_t* server; /* NULL: not at one */
  s3l_list_t held;
  int64_t changed_ns; /* when what was held was last answered for a change, in lease time */
};

typedef struct s3l_peer_server_config_s {
  s3l_http_server_options_t http; /* listen (NULL: nobody is answered about elections), tls, error,
                                     limits; on_request and data are ours */
  const char* pages_listen; /* where all pages are served, in plain HTTP, and nothing else; NULL:
                               nowhere */
  unsigned pages;           /* the s3l_peer_page_t that are also served at http.listen */
  uint32_t max_wait_ms;
  void* data;
  /* The body of GET /metrics, to be freed with s3l_free, NULL if there is no memory. */
  char* (*metrics)(void* data, size_t* len);
  /* Whether GET /readyz and GET /leader are answered with 200, else 503. */
  bool (*ready)(void* data);
  /* Also the epoch of the leadership; 0 if the process has several elections. */
  bool (*leads)(void* data, uint64_t* epoch);
} s3l_peer_server_config_t;

/** Listens; does not keep the loop alive. Errors as of s3l_http_server_create. If it cannot listen
 * at pages_listen, the other socket is closed already, but the loop must run once more. */
int s3l_peer_server_create(uv_loop_t* loop, const s3l_peer_server_config_t* config,
                           s3l_peer_server_t** out);

/** The server at http.listen, or NULL. */
s3l_http_server_t* s3l_peer_server_http(s3l_peer_server_t* server);
/** The server at pages_listen, or NULL. */
s3l_http_server_t* s3l_peer_server_pages(s3l_peer_server_t* server);

/** How many registrations there are, and the one at place i, in the order of paths. */
size_t s3l_peer_server_len(const s3l_peer_server_t* server);
s3l_peer_registration_t* s3l_peer_server_at(const s3l_peer_server_t* server, size_t i);

/** Errors: UV_EEXIST (the path is taken, by a registration or a page of the server's), UV_ECANCELED
 * (closing), UV_ENOMEM. */
int s3l_peer_server_add(s3l_peer_server_t* server, s3l_peer_registration_t* registration);

/** Answers what is held with 404. No-op on a registration that is at no server. */
void s3l_peer_server_remove(s3l_peer_registration_t* registration);

/** The candidacy to be granted, of those of held questions: the one of `successor`; else ("") the
 * one that has waited for longest of those of the highest priority. False: there is none. */
bool s3l_peer_registration_candidate(const s3l_peer_registration_t* registration,
                                     const char* successor, s3lect_record_t* out);

/** The registration has parted, or its leader publishes another value: what is held is answered. */
void s3l_peer_registration_changed(s3l_peer_registration_t* registration);

/** Removes all registrations, closes all connections, frees the server, then calls cb. */
void s3l_peer_server_close(s3l_peer_server_t* server, void (*cb)(void* arg), void* arg);

#endif
