#include "addr.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool split(const char* text, host_port_t* out, unsigned long port_min) {
  const char* colon = strrchr(text, ':');
  if (colon == NULL)
    return false;
  size_t n = (size_t)(colon - text), digits = strspn(colon + 1, "0123456789");
  bool brackets = n > 2 && text[0] == '[' && text[n - 1] == ']';
  if (brackets) {
    text++;
    n -= 2;
  }
  if (n == 0 || n >= sizeof out->host || (memchr(text, ':', n) != NULL) != brackets ||
      digits == 0 || digits >= sizeof out->port || colon[1 + digits] != '\0')
    return false;
  memcpy(out->host, text, n);
  out->host[n] = '\0';
  memcpy(out->port, colon + 1, digits + 1);
  unsigned long port = strtoul(out->port, NULL, 10);
  return port >= port_min && port <= 65535;
}

bool addr_split(const char* text, host_port_t* out) {
  return split(text, out, 1);
}

bool addr_parse(const char* text, addr_t* addr) {
  host_port_t parts;
  memset(addr, 0, sizeof *addr);
  if (!split(text, &parts, 0))
    return false;
  uint16_t port = htons((uint16_t)strtoul(parts.port, NULL, 10));
  struct sockaddr_in* v4 = (struct sockaddr_in*)&addr->sa;
  struct sockaddr_in6* v6 = (struct sockaddr_in6*)&addr->sa;
  if (inet_pton(AF_INET, parts.host, &v4->sin_addr) == 1) {
    v4->sin_family = AF_INET;
    v4->sin_port = port;
    addr->len = sizeof *v4;
    return true;
  }
  if (inet_pton(AF_INET6, parts.host, &v6->sin6_addr) == 1) {
    v6->sin6_family = AF_INET6;
    v6->sin6_port = port;
    addr->len = sizeof *v6;
    return true;
  }
  return false;
}

bool addr_is_wildcard(const addr_t* addr) {
  if (addr->sa.ss_family == AF_INET)
    return ((const struct sockaddr_in*)&addr->sa)->sin_addr.s_addr == htonl(INADDR_ANY);
  return IN6_IS_ADDR_UNSPECIFIED(&((const struct sockaddr_in6*)&addr->sa)->sin6_addr);
}

bool addr_is_loopback(const addr_t* addr) {
  if (addr->sa.ss_family == AF_INET)
    return ntohl(((const struct sockaddr_in*)&addr->sa)->sin_addr.s_addr) >> 24 == 127;
  const struct in6_addr* v6 = &((const struct sockaddr_in6*)&addr->sa)->sin6_addr;
  return IN6_IS_ADDR_LOOPBACK(v6) || (IN6_IS_ADDR_V4MAPPED(v6) && v6->s6_addr[12] == 127);
}

void addr_format(const addr_t* addr, char out[ADDR_TEXT_SIZE]) {
  char host[INET6_ADDRSTRLEN] = "?";
  if (addr->sa.ss_family == AF_INET) {
    const struct sockaddr_in* v4 = (const struct sockaddr_in*)&addr->sa;
    inet_ntop(AF_INET, &v4->sin_addr, host, sizeof host);
    snprintf(out, ADDR_TEXT_SIZE, "%s:%u", host, ntohs(v4->sin_port));
  } else {
    const struct sockaddr_in6* v6 = (const struct sockaddr_in6*)&addr->sa;
    inet_ntop(AF_INET6, &v6->sin6_addr, host, sizeof host);
    snprintf(out, ADDR_TEXT_SIZE, "[%s]:%u", host, ntohs(v6->sin6_port));
  }
}
