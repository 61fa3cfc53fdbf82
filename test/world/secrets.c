/* world/secrets.c: see secrets.h. */
#define OPENSSL_SUPPRESS_DEPRECATED  /* RAND_METHOD is the one way to a random number of one's own \
                                      */

#include "world/secrets.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "lib/certs.h"
#include "sim/rnd.h"
#include "world/world.h"

#define YEARS (20L * 365 * 86400)

static world_secrets_t secrets;
static s3l_prng_t draws; /* where no host's code runs */

static int random_bytes(unsigned char* p, int n) {
  s3l_prng_t* from = world.here != NULL ? &world.here->random : &draws;
  for (int i = 0; i < n; i++)
    p[i] = (unsigned char)(s3l_prng_next(from) >> 56);
  return 1;
}

static int is_seeded(void) {
  return 1;
}

/* OpenSSL asks the C library for the time of certificates and sessions: this is found first. */
__attribute__((visibility("default"))) time_t time(time_t* out) {
  time_t t = (time_t)(WORLD_EPOCH_MS / 1000);
  if (world.here != NULL)
    t = (time_t)(world_wall_ms(world.here) / 1000);
  if (out != NULL)
    *out = t;
  return t;
}

static void must(int ok) {
  if (!ok)
    abort();
}

static void write_pem(char path[160], const char* name, X509* cert, EVP_PKEY* key) {
  snprintf(path, 160, "%s/%s.pem", secrets.dir, name);
  FILE* f = fopen(path, "w");
  must(f != NULL);
  must(cert != NULL ? PEM_write_X509(f, cert)
                    : PEM_write_PrivateKey(f, key, NULL, NULL, 0, NULL, NULL));
  must(fclose(f) == 0);
}

static void make(void) {
  static const char names[] =
      "DNS:s3.world,DNS:*.s3.world,IP:10.0.0.200,IP:10.0.0.201,IP:10.0.0.202,IP:10.0.0.203";
  static const char nodes[] = "IP:10.0.0.1,IP:10.0.0.2,IP:10.0.0.3,IP:10.0.0.4,IP:10.0.0.5,"
                              "IP:10.0.0.6,IP:10.0.0.7,IP:10.0.0.8,IP:10.0.0.9";
  static const RAND_METHOD method = {
      .bytes = random_bytes, .pseudorand = random_bytes, .status = is_seeded};
  world_host_t* was = world_enter(NULL);
  draws = sim_rnd(0, 5);
  must(RAND_set_rand_method(&method));
  snprintf(secrets.dir, sizeof(secrets.dir), "/tmp/s3lect-world-XXXXXX");
  must(mkdtemp(secrets.dir) != NULL);
  EVP_PKEY* key = EVP_EC_gen("P-256");
  X509* ca = s3l_cert_make("world", NULL, -YEARS, YEARS, key, NULL, key);
  X509* store = s3l_cert_make("store", names, -YEARS, YEARS, key, ca, key);
  X509* node = s3l_cert_make("node", nodes, -YEARS, YEARS, key, ca, key);
  must(key != NULL && ca != NULL && store != NULL && node != NULL);
  write_pem(secrets.ca, "ca", ca, NULL);
  write_pem(secrets.store, "store", store, NULL);
  write_pem(secrets.node, "node", node, NULL);
  write_pem(secrets.key, "key", NULL, key);
  X509_free(ca);
  X509_free(store);
  X509_free(node);
  EVP_PKEY_free(key);
  world_leave(was);
}

const world_secrets_t* world_secrets(void) {
  if (secrets.dir[0] == '\0')
    make();
  return &secrets;
}

void world_secrets_remove(void) {
  if (secrets.dir[0] == '\0')
    return;
  (void)remove(secrets.ca);
  (void)remove(secrets.store);
  (void)remove(secrets.node);
  (void)remove(secrets.key);
  (void)rmdir(secrets.dir);
}
