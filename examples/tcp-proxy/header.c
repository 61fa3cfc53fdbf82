#include "header.h"

#include <netinet/in.h>
#include <string.h>

#define VERSION_LOCAL 0x20
#define VERSION_PROXY 0x21
#define FAMILY_NONE   0x00
#define FAMILY_TCP4   0x11
#define FAMILY_TCP6   0x21
#define TLV_EPOCH     0xE3
#define TLV_PEER      0xE4

static const uint8_t signature[12] = "\r\n\r\n\0\r\nQUIT\n"; /* without the literal's own NUL */
static const uint8_t answer_magic[6] = "S3LECT";

static void put_u64(uint8_t* out, uint64_t n) {
  for (int i = 7; i >= 0; i--, n >>= 8)
    out[i] = (uint8_t)n;
}

static uint64_t get_u64(const uint8_t* in) {
  uint64_t n = 0;
  for (int i = 0; i < 8; i++)
    n = n << 8 | in[i];
  return n;
}

/* Source and destination: two addresses, then two ports, each as it lies in its sockaddr. */
static size_t put_addresses(const header_t* header, uint8_t* out, uint8_t* family) {
  const struct sockaddr_storage *s = &header->source.sa, *d = &header->destination.sa;
  *family = FAMILY_NONE;
  if (header->source.len == 0 || s->ss_family != d->ss_family)
    return 0;
  if (s->ss_family == AF_INET) {
    *family = FAMILY_TCP4;
    memcpy(out, &((const struct sockaddr_in*)s)->sin_addr, 4);
    memcpy(out + 4, &((const struct sockaddr_in*)d)->sin_addr, 4);
    memcpy(out + 8, &((const struct sockaddr_in*)s)->sin_port, 2);
    memcpy(out + 10, &((const struct sockaddr_in*)d)->sin_port, 2);
    return 12;
  }
  *family = FAMILY_TCP6;
  memcpy(out, &((const struct sockaddr_in6*)s)->sin6_addr, 16);
  memcpy(out + 16, &((const struct sockaddr_in6*)d)->sin6_addr, 16);
  memcpy(out + 32, &((const struct sockaddr_in6*)s)->sin6_port, 2);
  memcpy(out + 34, &((const struct sockaddr_in6*)d)->sin6_port, 2);
  return 36;
}

static size_t get_addresses(header_t* header, uint8_t family, const uint8_t* in, size_t len) {
  struct sockaddr_in *s4 = (struct sockaddr_in*)&header->source.sa,
                     *d4 = (struct sockaddr_in*)&header->destination.sa;
  struct sockaddr_in6 *s6 = (struct sockaddr_in6*)&header->source.sa,
                      *d6 = (struct sockaddr_in6*)&header->destination.sa;
  if (family == FAMILY_TCP4 && len >= 12) {
    s4->sin_family = d4->sin_family = AF_INET;
    memcpy(&s4->sin_addr, in, 4);
    memcpy(&d4->sin_addr, in + 4, 4);
    memcpy(&s4->sin_port, in + 8, 2);
    memcpy(&d4->sin_port, in + 10, 2);
    header->source.len = header->destination.len = sizeof *s4;
    return 12;
  }
  if (family == FAMILY_TCP6 && len >= 36) {
    s6->sin6_family = d6->sin6_family = AF_INET6;
    memcpy(&s6->sin6_addr, in, 16);
    memcpy(&d6->sin6_addr, in + 16, 16);
    memcpy(&s6->sin6_port, in + 32, 2);
    memcpy(&d6->sin6_port, in + 34, 2);
    header->source.len = header->destination.len = sizeof *s6;
    return 36;
  }
  return 0;
}

static size_t put_tlv(uint8_t* out, uint8_t type, const uint8_t* value, uint8_t len) {
  out[0] = type;
  out[1] = 0;
  out[2] = len;
  memcpy(out + 3, value, len);
  return 3u + len;
}

size_t header_write(const header_t* header, uint8_t out[HEADER_MAX]) {
  uint8_t epoch[8];
  memcpy(out, signature, sizeof signature);
  out[12] = header->asks ? VERSION_LOCAL : VERSION_PROXY;
  size_t n = HEADER_PREFIX_SIZE + put_addresses(header, out + HEADER_PREFIX_SIZE, &out[13]);
  put_u64(epoch, header->epoch);
  n += put_tlv(out + n, TLV_EPOCH, epoch, sizeof epoch);
  if (header->from_peer)
    n += put_tlv(out + n, TLV_PEER, (const uint8_t*)"\1", 1);
  out[14] = (uint8_t)((n - HEADER_PREFIX_SIZE) >> 8);
  out[15] = (uint8_t)(n - HEADER_PREFIX_SIZE);
  return n;
}

size_t header_length(const uint8_t* prefix) {
  size_t n = HEADER_PREFIX_SIZE + ((size_t)prefix[14] << 8 | prefix[15]);
  return memcmp(prefix, signature, sizeof signature) == 0 && n <= HEADER_MAX ? n : 0;
}

bool header_read(const uint8_t* bytes, size_t len, header_t* header) {
  memset(header, 0, sizeof *header);
  if (len < HEADER_PREFIX_SIZE || header_length(bytes) != len)
    return false;
  if (bytes[12] != VERSION_LOCAL && bytes[12] != VERSION_PROXY)
    return false;
  header->asks = bytes[12] == VERSION_LOCAL;
  size_t at = HEADER_PREFIX_SIZE;
  size_t addresses = get_addresses(header, bytes[13], bytes + at, len - at);
  if (addresses == 0 && bytes[13] != FAMILY_NONE)
    return false;
  for (at += addresses; at < len;) {
    if (len - at < 3)
      return false;
    size_t n = (size_t)bytes[at + 1] << 8 | bytes[at + 2];
    if (n > len - at - 3)
      return false;
    if (bytes[at] == TLV_EPOCH && n == 8)
      header->epoch = get_u64(bytes + at + 3);
    if (bytes[at] == TLV_PEER && n == 1)
      header->from_peer = bytes[at + 3] == 1;
    at += 3 + n;
  }
  return true;
}

first_bytes_t header_look(const uint8_t* bytes, size_t len) {
  header_t header;
  if (memcmp(bytes, signature, len < sizeof signature ? len : sizeof signature) != 0)
    return FIRST_BYTES_PASS;
  if (len < HEADER_PREFIX_SIZE)
    return FIRST_BYTES_MORE;
  size_t n = header_length(bytes);
  if (n > len)
    return FIRST_BYTES_MORE;
  return n != 0 && header_read(bytes, n, &header) && header.from_peer ? FIRST_BYTES_PEERS
                                                                      : FIRST_BYTES_PASS;
}

void answer_write(const answer_t* answer, uint8_t out[ANSWER_SIZE]) {
  memset(out, 0, ANSWER_SIZE);
  memcpy(out, answer_magic, sizeof answer_magic);
  out[6] = 1; /* version */
  out[7] = (uint8_t)answer->status;
  put_u64(out + 8, answer->epoch);
}

bool answer_read(const uint8_t in[ANSWER_SIZE], answer_t* answer) {
  if (memcmp(in, answer_magic, sizeof answer_magic) != 0 || in[6] != 1 || in[7] < ANSWER_LEADS ||
      in[7] > ANSWER_NO_BACKEND)
    return false;
  answer->status = (answer_status_t)in[7];
  answer->epoch = get_u64(in + 8);
  return true;
}
