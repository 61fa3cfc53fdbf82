#define OPENSSL_SUPPRESS_DEPRECATED

#include "wire/sha256.h"

#include <string.h>

#include "util/hex.h"
#include "util/mem.h"

const char s3l_sha256_empty_hex[S3L_SHA256_HEX_SIZE + 1] =
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

#ifdef S3L_SHA256_EVP

bool s3l_sha256_open(s3l_sha256_t* engine) {
  engine->md = EVP_MD_fetch(NULL, "SHA256", NULL);
  engine->ctx = EVP_MD_CTX_new();
  if (engine->md != NULL && engine->ctx != NULL)
    return true;
  s3l_sha256_close(engine);
  return false;
}

void s3l_sha256_close(s3l_sha256_t* engine) {
  EVP_MD_CTX_free(engine->ctx);
  EVP_MD_free(engine->md);
  engine->ctx = NULL;
  engine->md = NULL;
}

static bool begin(s3l_sha256_t* engine) {
  /* Naming the algorithm only once lets EVP keep what it can of the context. */
  const EVP_MD* md = EVP_MD_CTX_get0_md(engine->ctx) == NULL ? engine->md : NULL;
  return EVP_DigestInit_ex2(engine->ctx, md, NULL) == 1;
}

static bool update(s3l_sha256_t* engine, s3l_span_t data) {
  return EVP_DigestUpdate(engine->ctx, data.p, data.n) == 1;
}

static bool finish(s3l_sha256_t* engine, uint8_t out[S3L_SHA256_SIZE]) {
  return EVP_DigestFinal_ex(engine->ctx, out, NULL) == 1;
}

/* Keeps a padded block of the key as it is; it is hashed each time. */
static bool prepare_half(s3l_sha256_t* engine, uint8_t* half, s3l_span_t block) {
  (void)engine;
  memcpy(half, block.p, block.n);
  return true;
}

static bool begin_half(s3l_sha256_t* engine, const uint8_t* half) {
  return begin(engine) && update(engine, (s3l_span_t){(const char*)half, S3L_SHA256_BLOCK});
}

static bool begin_text(s3l_sha256_t* engine, s3l_sha256_memo_t* memo, s3l_span_t* data) {
  (void)memo;
  (void)data;
  return begin(engine);
}

#  define INNER(key) ((key)->inner)
#  define OUTER(key) ((key)->outer)

#else

bool s3l_sha256_open(s3l_sha256_t* engine) {
  return SHA256_Init(&engine->ctx) == 1;
}

void s3l_sha256_close(s3l_sha256_t* engine) {
  s3l_wipe(&engine->ctx, sizeof(engine->ctx));
}

static bool begin(s3l_sha256_t* engine) {
  return SHA256_Init(&engine->ctx) == 1;
}

static bool update(s3l_sha256_t* engine, s3l_span_t data) {
  return data.n == 0 || SHA256_Update(&engine->ctx, data.p, data.n) == 1;
}

static bool finish(s3l_sha256_t* engine, uint8_t out[S3L_SHA256_SIZE]) {
  return SHA256_Final(out, &engine->ctx) == 1;
}

/* Hashes a padded block of the key once; each computation continues from there. */
static bool prepare_half(s3l_sha256_t* engine, SHA256_CTX* half, s3l_span_t block) {
  bool ok = begin(engine) && update(engine, block);
  *half = engine->ctx;
  return ok;
}

static bool begin_half(s3l_sha256_t* engine, const SHA256_CTX* half) {
  engine->ctx = *half;
  return true;
}

/* Continues after the blocks that are the same as last time, remembers the others, and leaves in
 * *data what is still to be hashed. */
static bool begin_text(s3l_sha256_t* engine, s3l_sha256_memo_t* memo, s3l_span_t* data) {
  size_t blocks = data->n / S3L_SHA256_BLOCK;
  size_t n = 0;
  if (blocks > S3L_SHA256_MEMO_BLOCKS)
    blocks = S3L_SHA256_MEMO_BLOCKS;
  while (n < blocks && n < memo->blocks &&
         memcmp(memo->text + n * S3L_SHA256_BLOCK, data->p + n * S3L_SHA256_BLOCK,
                S3L_SHA256_BLOCK) == 0)
    n++;
  bool ok = n > 0 ? begin_half(engine, &memo->after[n - 1]) : begin(engine);
  for (; ok && n < blocks; n++) {
    const s3l_span_t block = {data->p + n * S3L_SHA256_BLOCK, S3L_SHA256_BLOCK};
    ok = update(engine, block);
    memcpy(memo->text + n * S3L_SHA256_BLOCK, block.p, block.n);
    memo->after[n] = engine->ctx;
  }
  memo->blocks = ok ? n : 0;
  *data = (s3l_span_t){data->p + n * S3L_SHA256_BLOCK, data->n - n * S3L_SHA256_BLOCK};
  return ok;
}

#  define INNER(key) (&(key)->inner)
#  define OUTER(key) (&(key)->outer)

#endif

/* Finishes a hash that has begun, with the rest of the text. */
static bool finish_hex(s3l_sha256_t* engine, s3l_span_t rest, char out[S3L_SHA256_HEX_SIZE + 1]) {
  uint8_t digest[S3L_SHA256_SIZE];
  out[0] = '\0';
  if (!update(engine, rest) || !finish(engine, digest))
    return false;
  s3l_hex_encode(digest, sizeof(digest), out);
  out[S3L_SHA256_HEX_SIZE] = '\0';
  return true;
}

bool s3l_sha256_hex(s3l_sha256_t* engine, s3l_span_t data, char out[S3L_SHA256_HEX_SIZE + 1]) {
  out[0] = '\0';
  return begin(engine) && finish_hex(engine, data, out);
}

bool s3l_sha256_hex_memo(s3l_sha256_t* engine, s3l_sha256_memo_t* memo, s3l_span_t data,
                         char out[S3L_SHA256_HEX_SIZE + 1]) {
  out[0] = '\0';
  return begin_text(engine, memo, &data) && finish_hex(engine, data, out);
}

/* RFC 2104. Written on the digest, because EVP_MAC allocates for every computation. */
bool s3l_hmac_prepare(s3l_sha256_t* engine, s3l_span_t secret, s3l_hmac_key_t* key) {
  uint8_t pad[S3L_SHA256_BLOCK] = {0};
  const s3l_span_t block = {(const char*)pad, sizeof(pad)};
  bool ok = true;
  if (secret.n > sizeof(pad))
    ok = begin(engine) && update(engine, secret) && finish(engine, pad);
  else if (secret.n > 0)
    memcpy(pad, secret.p, secret.n);
  for (size_t i = 0; i < sizeof(pad); i++)
    pad[i] ^= 0x36;
  ok = ok && prepare_half(engine, INNER(key), block);
  for (size_t i = 0; i < sizeof(pad); i++)
    pad[i] ^= 0x36 ^ 0x5c;
  ok = ok && prepare_half(engine, OUTER(key), block);
  s3l_wipe(pad, sizeof(pad));
  return ok;
}

bool s3l_hmac(s3l_sha256_t* engine, const s3l_hmac_key_t* key, s3l_span_t data,
              uint8_t out[S3L_SHA256_SIZE]) {
  uint8_t inner[S3L_SHA256_SIZE];
  return begin_half(engine, INNER(key)) && update(engine, data) && finish(engine, inner) &&
         begin_half(engine, OUTER(key)) &&
         update(engine, (s3l_span_t){(const char*)inner, sizeof(inner)}) && finish(engine, out);
}
