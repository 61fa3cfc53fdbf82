/* net/dial.h: opens a TCP connection to a host with one or many addresses.
 *
 * Vocabulary
 *   attempt   one connect to one address
 *   stagger   how long an attempt may hang before the next address is tried beside it
 *
 * Addresses are tried in the system's order (RFC 6724), the two families by turns; the next one
 * when one fails, or after the stagger while one hangs ("happy eyeballs", RFC 8305, without its
 * parallel DNS). The first attempt that succeeds wins, the others are closed.
 *
 * With a cache, a fresh answer saves the look-up; a stale one is used when the look-up fails, in
 * whatever way, or has not ended when the dial's patience does.
 *
 * Lifecycle: start, then either the callback (once, never inside start), or cancel. After either
 * the dial may be started again or its memory reused. A bound on the whole is the caller's. */
#ifndef S3L_NET_DIAL_H
#define S3L_NET_DIAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "loop/loop.h"
#include "net/dns_cache.h"

/* RFC 8305, section 5 */
#define S3L_DIAL_STAGGER_MS 250

/* How long a look-up may take where there is a stale answer. Resolvers retry after seconds, which
 * is longer than most leases can spare. */
#define S3L_DIAL_PATIENCE_MS 250

typedef struct s3l_dial_s s3l_dial_t;
struct s3l_attempt_s;
struct s3l_resolve_s;

/** status 0: `tcp` is connected, belongs to the callee, and is given back with s3l_tcp_close. Else
 * UV_EAI_* (the look-up) or what the most telling attempt failed with. */
typedef void (*s3l_dial_cb)(s3l_dial_t* d, int status, uv_tcp_t* tcp);

struct s3l_dial_s {
  s3l_loop_t* loop;
  s3l_dial_cb cb;
  struct s3l_resolve_s* resolve; /* under way, or NULL */
  s3l_dns_cache_t* cache;        /* or NULL */
  const char* host;              /* these two only with it */
  uint16_t port;
  size_t addresses_len;
  size_t next;    /* address to be tried next */
  size_t pending; /* attempts under way */
  int error;
  size_t error_at;        /* the address that gave it */
  s3l_deadline_t stagger; /* also what bounds the look-up, and brings a failure out of start */
  struct s3l_attempt_s* attempts[S3L_DNS_ADDRESSES_MAX]; /* NULL: not begun, or over */
  s3l_address_t addresses[S3L_DNS_ADDRESSES_MAX];
};

/** Parses an IPv4 or IPv6 literal, without brackets. */
bool s3l_address_parse(const char* host, uint16_t port, s3l_address_t* out);

/* "[ipv6]:port" with its NUL */
#define S3L_ADDRESS_TEXT_MAX 64

/** "10.0.0.1:80" or "[::1]:80". */
void s3l_address_format(const s3l_address_t* a, char* out, size_t cap);

uint16_t s3l_address_port(const s3l_address_t* a);

/** Starts with a look-up, or without one if the host is a literal. The cache, which may be NULL,
 * and the host's name must outlive the dial. Errors: UV_ENOMEM, UV_EINVAL. */
int s3l_dial_start(s3l_dial_t* d, s3l_loop_t* loop, s3l_dns_cache_t* cache, const char* host,
                   uint16_t port, s3l_dial_cb cb);

/** The same for addresses already known; 1 to S3L_DNS_ADDRESSES_MAX of them. */
void s3l_dial_start_addresses(s3l_dial_t* d, s3l_loop_t* loop, const s3l_address_t* addresses,
                              size_t n, s3l_dial_cb cb);

/** The callback will not run. */
void s3l_dial_cancel(s3l_dial_t* d);

/** Tells a dial that will be cancelled because it took too long: its addresses are not taken again
 * without a look-up. */
void s3l_dial_suspect(s3l_dial_t* d);

/** Which address the failure that was reported belongs to, as "10.0.0.1:80" or "[::1]:80"; empty if
 * none was tried. */
void s3l_dial_failed_address(const s3l_dial_t* d, char* out, size_t cap);

#endif
