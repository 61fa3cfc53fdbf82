/* net/dns_cache.h: the last answer to a look-up, for whoever dials one host again and again.
 *
 *   fresh    for a few seconds, about as long as S3's own answers live: taken without a look-up
 *   stale    for an hour: taken where a look-up fails or does not end in time (RFC 8767)
 *   suspect  none of its addresses could be reached: taken only where a look-up fails, and not
 * where it says that there is no such name */
#ifndef S3L_NET_DNS_CACHE_H
#define S3L_NET_DNS_CACHE_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

/* Enough for every front end that S3 puts into one answer. */
#define S3L_DNS_ADDRESSES_MAX 8
#define S3L_DNS_HOST_MAX      256 /* with its NUL */
#define S3L_DNS_FRESH_MS      5000
#define S3L_DNS_STALE_MS      3600000

typedef union s3l_address_u {
  struct sockaddr sa;
  struct sockaddr_in in4;
  struct sockaddr_in6 in6;
} s3l_address_t;

typedef struct s3l_dns_cache_s {
  char host[S3L_DNS_HOST_MAX];
  uint16_t port;
  int64_t at_ns; /* in lease time */
  s3l_address_t addresses[S3L_DNS_ADDRESSES_MAX];
  size_t len; /* 0: none, as in a zeroed struct */
  bool suspect;
} s3l_dns_cache_t;

typedef enum { S3L_DNS_NONE, S3L_DNS_SUSPECT, S3L_DNS_STALE, S3L_DNS_FRESH } s3l_dns_age_t;

s3l_dns_age_t s3l_dns_cache_age(const s3l_dns_cache_t* cache, const char* host, uint16_t port);

/** A name that is too long is not kept. */
void s3l_dns_cache_put(s3l_dns_cache_t* cache, const char* host, uint16_t port,
                       const s3l_address_t* addresses, size_t n);

/** Its addresses could not be reached. */
void s3l_dns_cache_suspect(s3l_dns_cache_t* cache);

#endif
