/* Proxy URLs and NO_PROXY lists.
 *
 * Input: the first line is a proxy URL, the second a port and a host ("443 s3.example.com"), the
 * rest a NO_PROXY list. Bytes from a NUL on are left out: options and variables cannot have them.
 */
#include <ctype.h>

#include <openssl/evp.h>
#include <uv.h>

#include "fuzz.h"
#include "http/proxy.h"

/* ---- URLs ---- */

/* The header must decode to a user and a password. */
static void check_authorization(const char* header) {
  uint8_t plain[S3L_PROXY_AUTHORIZATION_MAX];
  size_t n = strlen(header);
  if (n == 0)
    return;
  FUZZ_CHECK(strncmp(header, "Basic ", 6) == 0 && (n - 6) % 4 == 0);
  for (const char* p = header + 6; *p != '\0'; p++)
    FUZZ_CHECK(isalnum((unsigned char)*p) || strchr("+/=", *p) != NULL);
  n = (n - 6) / 4 * 3;
  FUZZ_CHECK(n > 0 && n < sizeof(plain));
  FUZZ_CHECK(EVP_DecodeBlock(plain, (const unsigned char*)header + 6, (int)strlen(header + 6)) ==
             (int)n);
  FUZZ_CHECK(memchr(plain, ':', n) != NULL);
}

/* The same proxy, written out in full, must be read as the same proxy. */
static void check_again(const s3l_proxy_t* proxy) {
  char text[S3L_HTTP_HOST_MAX + 32];
  const char* reason = NULL;
  s3l_proxy_t again;
  bool ip6 = strchr(proxy->host, ':') != NULL;
  int n = snprintf(text, sizeof(text), " http://%s%s%s:%u/ ", ip6 ? "[" : "", proxy->host,
                   ip6 ? "]" : "", proxy->port);
  FUZZ_CHECK(n > 0 && (size_t)n < sizeof(text));
  FUZZ_CHECK(s3l_proxy_parse(s3l_span_cstr(text), &again, &reason));
  FUZZ_CHECK(again.port == proxy->port && again.authorization[0] == '\0');
  FUZZ_CHECK(strcmp(again.host, proxy->host) == 0);
}

static void check_url(const char* text) {
  const char* reason = NULL;
  s3l_proxy_t proxy;
  if (s3l_proxy_parse(s3l_span_cstr(text), &proxy, &reason)) {
    size_t n = strlen(proxy.host);
    FUZZ_CHECK(proxy.used && proxy.port > 0 && n > 0 && n <= 253);
    FUZZ_CHECK(fuzz_is_line(proxy.host) && strpbrk(proxy.host, " /@[]?#") == NULL);
    FUZZ_CHECK(proxy.authorization[0] == '\0' || strchr(text, '@') != NULL);
    check_authorization(proxy.authorization);
    check_again(&proxy);
  } else {
    FUZZ_CHECK(reason != NULL && strncmp(reason, "must ", 5) == 0 && fuzz_is_line(reason));
  }
}

/* ---- NO_PROXY ---- */

/* The list excludes what one of its entries excludes, whatever their order. */
static bool one_excludes(s3l_span_t list, s3l_span_t host, uint16_t port) {
  fuzz_input_t in = {(const uint8_t*)list.p, list.n};
  bool found = false;
  while (in.n > 0) {
    const uint8_t* comma = memchr(in.p, ',', in.n);
    char* entry = fuzz_string(fuzz_bytes(&in, comma != NULL ? (size_t)(comma - in.p) : in.n));
    found |= s3l_proxy_excludes(s3l_span_cstr(entry), host, port);
    free(entry);
    (void)fuzz_u8(&in);
  }
  return found;
}

static char* other_case(const char* text) {
  char* copy = fuzz_string(s3l_span_cstr(text));
  for (char* p = copy; *p != '\0'; p++)
    *p = (char)(islower((unsigned char)*p) ? toupper((unsigned char)*p)
                                           : tolower((unsigned char)*p));
  return copy;
}

static bool is_name(const char* host) {
  for (const char* p = host; *p != '\0'; p++) {
    if (!isalnum((unsigned char)*p) && *p != '-' && (*p != '.' || p == host))
      return false;
  }
  return host[0] != '\0';
}

/* A name excludes itself and what is below it, but not what only ends alike. */
static void check_own_name(const char* host, uint16_t port) {
  size_t cap = strlen(host) + 16;
  char* text = malloc(cap);
  FUZZ_CHECK(text != NULL);
  const s3l_span_t own = s3l_span_cstr(host);
  FUZZ_CHECK(s3l_proxy_excludes(own, own, port));
  (void)snprintf(text, cap, "%s:%u", host, port);
  FUZZ_CHECK(s3l_proxy_excludes(s3l_span_cstr(text), own, port));
  FUZZ_CHECK(!s3l_proxy_excludes(s3l_span_cstr(text), own, port ^ 1));
  (void)snprintf(text, cap, ".%s", host);
  FUZZ_CHECK(!s3l_proxy_excludes(s3l_span_cstr(text), own, port));
  unsigned char address[16];
  if (uv_inet_pton(AF_INET, host, address) != 0) {
    (void)snprintf(text, cap, "a.%s", host);
    FUZZ_CHECK(s3l_proxy_excludes(own, s3l_span_cstr(text), port));
    (void)snprintf(text, cap, "a%s", host);
    FUZZ_CHECK(!s3l_proxy_excludes(own, s3l_span_cstr(text), port));
  }
  free(text);
}

static void check_list(const char* text, const char* name, uint16_t port) {
  const s3l_span_t list = s3l_span_cstr(text);
  const s3l_span_t host = s3l_span_cstr(name);
  bool excluded = s3l_proxy_excludes(list, host, port);
  FUZZ_CHECK(excluded == one_excludes(list, host, port));
  char* list2 = other_case(text);
  char* host2 = other_case(name);
  FUZZ_CHECK(s3l_proxy_excludes(s3l_span_cstr(list2), s3l_span_cstr(host2), port) == excluded);
  free(list2);
  free(host2);
}

/* An option is for all origins; a variable is not for those that NO_PROXY names. */
static void check_choice(const char* url, const char* list, const char* host, uint16_t port) {
  const s3l_span_t to = s3l_span_cstr(host);
  s3l_proxy_rules_t rules = {
      .https = url, .https_name = "https_proxy", .http = "http://other.example:1", .none = list};
  const char *name = NULL, *reason = NULL;
  s3l_proxy_t parsed, chosen;
  bool good = url[0] == '\0' || s3l_proxy_parse(s3l_span_cstr(url), &parsed, &reason);
  if (s3l_proxy_excludes(s3l_span_cstr(list), to, port)) {
    FUZZ_CHECK(s3l_proxy_choose(&rules, true, to, port, &chosen, &name, &reason) && !chosen.used);
  } else if (!s3l_proxy_choose(&rules, true, to, port, &chosen, &name, &reason)) {
    FUZZ_CHECK(!good && strcmp(name, "https_proxy") == 0);
  }
  rules.option = url;
  FUZZ_CHECK(s3l_proxy_choose(&rules, true, to, port, &chosen, &name, &reason) == good);
  FUZZ_CHECK(strcmp(name, "proxy") == 0);
  FUZZ_CHECK(!good || chosen.used == (url[0] != '\0'));
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz_input_t in = {data, size};
  char* url = fuzz_string(fuzz_line(&in));
  char* origin = fuzz_string(fuzz_line(&in));
  char* list = fuzz_string(fuzz_rest(&in));
  char* host = origin;
  uint16_t port = (uint16_t)strtoul(origin, &host, 10);
  host += *host == ' ';
  check_url(url);
  check_list(list, host, port);
  if (is_name(host))
    check_own_name(host, port);
  check_choice(url, list, host, port);
  free(url);
  free(origin);
  free(list);
  return 0;
}
