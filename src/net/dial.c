/* net/dial.c: see dial.h. */
#include "net/dial.h"

#include <stdio.h>
#include <string.h>

#include <netdb.h>
#include <sys/socket.h>

#include "net/tcp.h"
#include "util/assert.h"
#include "util/list.h"
#include "util/mem.h"
#include "util/mutant.h"

/* Outlives its dial where it loses or is cancelled. */
typedef struct s3l_attempt_s {
  uv_connect_t req;
  uv_tcp_t* tcp;
  s3l_dial_t* dial; /* NULL: nobody wants it any more */
  size_t at;
} attempt_t;

bool s3l_address_parse(const char* host, uint16_t port, s3l_address_t* out) {
  memset(out, 0, sizeof(*out));
  return uv_ip4_addr(host, port, &out->in4) == 0 || uv_ip6_addr(host, port, &out->in6) == 0;
}

uint16_t s3l_address_port(const s3l_address_t* a) {
  return ntohs(a->sa.sa_family == AF_INET6 ? a->in6.sin6_port : a->in4.sin_port);
}

void s3l_address_format(const s3l_address_t* a, char* out, size_t cap) {
  char ip[INET6_ADDRSTRLEN] = "";
  bool v6 = a->sa.sa_family == AF_INET6;
  out[0] = 0;
  if (uv_ip_name(&a->sa, ip, sizeof(ip)) == 0)
    snprintf(out, cap, v6 ? "[%s]:%u" : "%s:%u", ip, (unsigned)s3l_address_port(a));
}

/* ---- the look-up ---- */

/* getaddrinfo runs on libuv's thread pool and cannot be stopped once it runs. A look-up that its
 * dial abandons goes on by itself, and frees itself when it ends. */
typedef struct s3l_resolve_s {
  uv_getaddrinfo_t req;
  s3l_dial_t* dial; /* NULL: abandoned */
} resolve_t;

static void on_resolved(s3l_dial_t* d, int status, const struct addrinfo* found);

static void on_found(uv_getaddrinfo_t* req, int status, struct addrinfo* found) {
  resolve_t* r = S3L_CONTAINER_OF(req, resolve_t, req);
  s3l_dial_t* d = r->dial;
  s3l_free(r);
  if (d != NULL)
    on_resolved(d, status, found);
  uv_freeaddrinfo(found);
}

static int start_resolve(s3l_dial_t* d) {
  /* No AI_ADDRCONFIG: glibc does not count loopback addresses, so that "localhost" would lose ::1.
   * An address of a family that the machine lacks fails at once and the next one is tried. */
  struct addrinfo hints = {.ai_family = AF_UNSPEC,
                           .ai_socktype = SOCK_STREAM,
                           .ai_protocol = IPPROTO_TCP,
                           .ai_flags = AI_NUMERICSERV};
  char service[8];
  resolve_t* r = s3l_calloc(1, sizeof(*r));
  if (r == NULL)
    return UV_ENOMEM;
  r->dial = d;
  snprintf(service, sizeof(service), "%u", (unsigned)d->port);
  int rc = uv_getaddrinfo(s3l_loop_uv(d->loop), &r->req, on_found, d->host, service, &hints);
  if (rc == 0)
    d->resolve = r;
  else
    s3l_free(r);
  return rc;
}

static void abandon_resolve(s3l_dial_t* d) {
  resolve_t* r = d->resolve;
  if (r == NULL)
    return;
  d->resolve = NULL;
  r->dial = NULL;
  (void)uv_cancel((uv_req_t*)&r->req); /* UV_EBUSY: it runs already */
}

/* ---- connecting ---- */

static void on_closed(uv_handle_t* handle) {
  s3l_free(handle->data);
}

static void drop_attempt(s3l_dial_t* d, size_t i) {
  attempt_t* a = d->attempts[i];
  if (a == NULL)
    return;
  a->dial = NULL;
  d->attempts[i] = NULL;
  d->pending--;
  if (!S3L_MUTANT(ATTEMPT_LEFT))
    s3l_tcp_close(a->tcp, on_closed);
}

/* "No route", "no such family" say less about the server than what another address answered. */
static bool is_vague(int error) {
  return error == 0 || error == UV_ENETUNREACH || error == UV_EHOSTUNREACH ||
         error == UV_EADDRNOTAVAIL || error == UV_EAFNOSUPPORT || error == UV_EINVAL;
}

static void note_failure(s3l_dial_t* d, size_t at, int error) {
  if (is_vague(error) && d->error != 0)
    return;
  d->error = error;
  d->error_at = at;
}

static void advance(s3l_dial_t* d);

static void on_connected(uv_connect_t* req, int status) {
  attempt_t* a = S3L_CONTAINER_OF(req, attempt_t, req);
  s3l_dial_t* d = a->dial;
  if (d == NULL)
    return; /* dropped; its close is under way */
  if (status != 0) {
    note_failure(d, a->at, status);
    drop_attempt(d, a->at);
    advance(d);
    return;
  }
  uv_tcp_t* tcp = a->tcp;
  d->attempts[a->at] = NULL;
  d->pending--;
  s3l_free(a);
  s3l_dial_cancel(d);
  d->cb(d, 0, tcp);
}

static int begin_attempt(s3l_dial_t* d, size_t i) {
  attempt_t* a = s3l_calloc(1, sizeof(*a));
  if (a == NULL)
    return UV_ENOMEM;
  a->tcp = s3l_tcp_new(s3l_loop_uv(d->loop));
  if (a->tcp == NULL) {
    s3l_free(a);
    return UV_ENOMEM;
  }
  a->tcp->data = a;
  a->dial = d;
  a->at = i;
  d->attempts[i] = a;
  d->pending++;
  int rc = uv_tcp_connect(&a->req, a->tcp, &d->addresses[i].sa, on_connected);
  if (rc != 0)
    drop_attempt(d, i);
  return rc;
}

/* Begins the next attempt, if there is one. Where nothing is left to wait for, the stagger deadline
 * comes at once, and reports the failure from the loop. */
static void advance(s3l_dial_t* d) {
  bool begun = false;
  while (!begun && d->next < d->addresses_len) {
    size_t i = d->next++;
    int rc = begin_attempt(d, i);
    if (rc == 0)
      begun = true;
    else
      note_failure(d, i, rc);
  }
  if (d->pending == 0)
    s3l_loop_deadline_set(d->loop, &d->stagger, 0);
  else if (d->next < d->addresses_len)
    s3l_loop_deadline_set(d->loop, &d->stagger, s3l_clock_in_ms(S3L_DIAL_STAGGER_MS));
  else
    s3l_loop_deadline_clear(d->loop, &d->stagger);
}

static void use_addresses(s3l_dial_t* d, const s3l_address_t* addresses, size_t n) {
  memcpy(d->addresses, addresses, n * sizeof(*addresses));
  d->addresses_len = n;
  advance(d);
}

static s3l_dns_age_t cached(const s3l_dial_t* d) {
  return d->cache != NULL ? s3l_dns_cache_age(d->cache, d->host, d->port) : S3L_DNS_NONE;
}

/* Of this process or machine: such an error says nothing about the address. */
static bool is_local(int error) {
  return error == UV_EMFILE || error == UV_ENFILE || error == UV_ENOMEM || error == UV_ENOBUFS;
}

static void on_stagger(s3l_deadline_t* deadline) {
  s3l_dial_t* d = S3L_CONTAINER_OF(deadline, s3l_dial_t, stagger);
  if (d->resolve != NULL) {
    if (cached(d) < S3L_DNS_STALE)
      return; /* suspect since: the look-up has all the time there is */
    abandon_resolve(d);
    use_addresses(d, d->cache->addresses, d->cache->len);
  } else if (d->pending > 0 || d->next < d->addresses_len) {
    advance(d);
  } else {
    if (!is_local(d->error))
      s3l_dial_suspect(d);
    d->cb(d, d->error, NULL);
  }
}

static void prepare(s3l_dial_t* d, s3l_loop_t* loop, s3l_dial_cb cb) {
  memset(d, 0, sizeof(*d));
  d->loop = loop;
  d->cb = cb;
  s3l_deadline_init(&d->stagger, on_stagger);
}

static bool take_family(s3l_dial_t* d, const struct addrinfo* ai, const struct addrinfo** next,
                        bool v6) {
  for (; ai != NULL; ai = ai->ai_next) {
    if (ai->ai_family != (v6 ? AF_INET6 : AF_INET) || ai->ai_addrlen > sizeof(s3l_address_t))
      continue;
    memcpy(&d->addresses[d->addresses_len++], ai->ai_addr, ai->ai_addrlen);
    *next = ai->ai_next;
    return true;
  }
  *next = NULL;
  return false;
}

/* The families by turns, beginning with the one that the system puts first. */
static void take_found(s3l_dial_t* d, const struct addrinfo* found) {
  const struct addrinfo* rest[2] = {found, found};
  bool v6 = found->ai_family == AF_INET6;
  while (d->addresses_len < S3L_DNS_ADDRESSES_MAX && (rest[0] != NULL || rest[1] != NULL)) {
    take_family(d, rest[v6], &rest[v6], v6);
    v6 = !v6;
  }
}

/* Whether a failed look-up leaves the addresses of an earlier one. "No such name" is not always the
 * name server's word: glibc says so too where it has no descriptor to ask with. So it only counts
 * against addresses that could not be reached. */
static bool may_reuse(const s3l_dial_t* d, int status) {
  bool no_such_name = status == UV_EAI_NONAME || status == UV_EAI_NODATA;
  if (S3L_MUTANT(NAME_LOST) && no_such_name)
    return false;
  return cached(d) > (no_such_name ? S3L_DNS_SUSPECT : S3L_DNS_NONE);
}

static void on_resolved(s3l_dial_t* d, int status, const struct addrinfo* found) {
  d->resolve = NULL;
  s3l_loop_deadline_clear(d->loop, &d->stagger);
  if (status == 0)
    take_found(d, found);
  if (status == 0 && d->addresses_len == 0)
    status = UV_EAI_NODATA;
  if (status != 0 && may_reuse(d, status)) {
    use_addresses(d, d->cache->addresses, d->cache->len);
    return;
  }
  if (status != 0) {
    d->cb(d, status, NULL);
    return;
  }
  if (d->cache != NULL)
    s3l_dns_cache_put(d->cache, d->host, d->port, d->addresses, d->addresses_len);
  advance(d);
}

int s3l_dial_start(s3l_dial_t* d, s3l_loop_t* loop, s3l_dns_cache_t* cache, const char* host,
                   uint16_t port, s3l_dial_cb cb) {
  s3l_address_t literal;
  if (s3l_address_parse(host, port, &literal)) {
    s3l_dial_start_addresses(d, loop, &literal, 1, cb);
    return 0;
  }
  prepare(d, loop, cb);
  d->cache = cache;
  d->host = host;
  d->port = port;
  s3l_dns_age_t age = cached(d);
  if (age == S3L_DNS_FRESH) {
    use_addresses(d, cache->addresses, cache->len);
    return 0;
  }
  int rc = start_resolve(d);
  if (rc != 0 && age != S3L_DNS_NONE) {
    use_addresses(d, cache->addresses, cache->len);
    return 0;
  }
  if (rc == 0 && age == S3L_DNS_STALE)
    s3l_loop_deadline_set(loop, &d->stagger, s3l_clock_in_ms(S3L_DIAL_PATIENCE_MS));
  return rc;
}

void s3l_dial_start_addresses(s3l_dial_t* d, s3l_loop_t* loop, const s3l_address_t* addresses,
                              size_t n, s3l_dial_cb cb) {
  S3L_ASSERT(n >= 1 && n <= S3L_DNS_ADDRESSES_MAX);
  prepare(d, loop, cb);
  use_addresses(d, addresses, n);
}

void s3l_dial_cancel(s3l_dial_t* d) {
  abandon_resolve(d);
  for (size_t i = 0; i < d->addresses_len; i++)
    drop_attempt(d, i);
  s3l_loop_deadline_clear(d->loop, &d->stagger);
}

void s3l_dial_failed_address(const s3l_dial_t* d, char* out, size_t cap) {
  out[0] = 0;
  if (d->error_at < d->addresses_len)
    s3l_address_format(&d->addresses[d->error_at], out, cap);
}

void s3l_dial_suspect(s3l_dial_t* d) {
  if (d->cache != NULL)
    s3l_dns_cache_suspect(d->cache);
}
