
#include "lib/tls_pair.h"
#include "lib/test.h"

bool s3l_tls_carry(s3l_tls_engine_t* from, s3l_tls_engine_t* to, size_t max, s3l_prng_t* rng) {
  char buf[2000];
  size_t cap = max == 0 ? sizeof(buf) : 1 + (size_t)s3l_prng_below(rng, max);
  size_t n = s3l_tls_take(from, buf, cap);
  if (n > 0)
    assert_int_equal(s3l_tls_feed(to, buf, n), 0);
  return n > 0;
}

int s3l_tls_shake(s3l_tls_engine_t* client, s3l_tls_engine_t* server, size_t max, s3l_prng_t* rng) {
  for (;;) {
    int rc = client->ready ? 0 : s3l_tls_handshake(client);
    if (rc < 0)
      return rc;
    bool moved = s3l_tls_carry(client, server, max, rng);
    if (!server->ready && s3l_tls_handshake(server) < 0)
      return 1;
    moved |= s3l_tls_carry(server, client, max, rng);
    if (!moved && client->ready && server->ready)
      return 0;
    assert_true(moved);
  }
}
