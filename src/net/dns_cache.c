#include "net/dns_cache.h"

#include <string.h>

#include "loop/clock.h"
#include "util/assert.h"
#include "util/mutant.h"
#include "util/span.h"

#define NS_PER_MS 1000000

s3l_dns_age_t s3l_dns_cache_age(const s3l_dns_cache_t* cache, const char* host, uint16_t port) {
  if (cache->len == 0 || cache->port != port || strcmp(cache->host, host) != 0)
    return S3L_DNS_NONE;
  if (S3L_MUTANT(NAME_FOR_EVER))
    return S3L_DNS_FRESH;
  int64_t age_ms = (s3l_clock_lease_ns() - cache->at_ns) / NS_PER_MS;
  if (age_ms >= S3L_DNS_STALE_MS)
    return S3L_DNS_NONE;
  if (cache->suspect)
    return S3L_DNS_SUSPECT;
  return age_ms < S3L_DNS_FRESH_MS ? S3L_DNS_FRESH : S3L_DNS_STALE;
}

void s3l_dns_cache_put(s3l_dns_cache_t* cache, const char* host, uint16_t port,
                       const s3l_address_t* addresses, size_t n) {
  S3L_ASSERT(n >= 1 && n <= S3L_DNS_ADDRESSES_MAX);
  cache->len = 0;
  if (!s3l_span_copy(s3l_span_cstr(host), cache->host, sizeof(cache->host)))
    return;
  memcpy(cache->addresses, addresses, n * sizeof(*addresses));
  cache->port = port;
  cache->at_ns = s3l_clock_lease_ns();
  cache->len = n;
  cache->suspect = false;
}

void s3l_dns_cache_suspect(s3l_dns_cache_t* cache) {
  cache->suspect = true;
}
