#include "options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "addr.h"

#define DURATION_MAX_MS    (7u * 24 * 3600 * 1000)

#define YIELD_AFTER_MIN_MS 500

static const char help[] =
    "usage: example-tcp-proxy --store STORE --id ID --listen ADDRESS --backend HOST:PORT "
    "[OPTION...]\n"
    "\n"
    "A TCP proxy that takes part in an election and forwards every connection to the leader's\n"
    "backend. ADDRESS is IP:PORT or [IP6]:PORT; port 0 is any free port. DUR is a duration such "
    "as\n"
    "500ms, 2s or 1m.\n"
    "\n"
    "  --store STORE            s3://BUCKET/KEY or file:///DIRECTORY/NAME\n"
    "  --id ID                  this proxy's name in the election; must be unique\n"
    "  --listen ADDRESS         address for clients\n"
    "  --backend HOST:PORT      this proxy's own backend\n"
    "  --peer-listen ADDRESS    address for the other proxies (default 127.0.0.1:0)\n"
    "  --advertise HOST:PORT    address that the other proxies connect to (default: the one of\n"
    "                           --peer-listen)\n"
    "  --hold DUR               refuse a new connection after waiting that long for a leader\n"
    "                           (default: 1.25 leader timeouts; 0s: refuse at once)\n"
    "  --drain DUR              after a change of leader, forward data from the old backend for\n"
    "                           that long, but none to it (default 0s: close at once)\n"
    "  --proxy-protocol         begin each connection to the backend with a PROXY protocol\n"
    "                           header, version 2, with the client's address and the epoch\n"
    "  --max-connections N      maximum number of connections (default: as many as the limit of\n"
    "                           open files allows, at most 10000)\n"
    "  --buffer SIZE            buffer per direction of a connection, 4k to 16m (default 64k)\n"
    "  --yield-after DUR        give up leadership when the backend has been unreachable for that\n"
    "                           long, and rejoin the election when it is back (default 5s; 0s:\n"
    "                           never). The proxy probes its backend every second, or five times\n"
    "                           in DUR if that is shorter\n"
    "  --connect-timeout DUR    for connects to the backend and to the leader's proxy (default "
    "1s)\n"
    "  --half-closed DUR        close a connection that one side has shut down when no data has\n"
    "                           moved for that long (default 1m)\n"
    "  --metrics-listen ADDRESS serve GET /metrics over HTTP\n"
    "  --leader-timeout DUR, --renew DUR, --request-timeout DUR, --frequent DUR, --infrequent DUR\n"
    "                           the election's timing (15s, 5s, 3s, 1s, 5s)\n"
    "  --endpoint URL, --region NAME, --ca-file FILE\n"
    "                           of the S3 store, if AWS's environment variables do not set them\n"
    "  --help\n"
    "\n"
    "SIGTERM and SIGINT stop the proxy gracefully; a second signal stops it at once.\n";

typedef enum { TEXT, ADDRESS, HOST_PORT, DURATION, NUMBER, SIZE, FLAG } kind_t;

#define FIELD(field) offsetof(options_t, field)

static const struct {
  const char* name;
  kind_t kind;
  size_t at;
  uint32_t min, max;
} table[] = {
    {"--store", TEXT, FIELD(store), 0, 0},
    {"--id", TEXT, FIELD(id), 0, 0},
    {"--listen", ADDRESS, FIELD(listen), 0, 0},
    {"--backend", HOST_PORT, FIELD(backend), 0, 0},
    {"--peer-listen", ADDRESS, FIELD(peer_listen), 0, 0},
    {"--advertise", HOST_PORT, FIELD(advertise), 0, 0},
    {"--metrics-listen", ADDRESS, FIELD(metrics_listen), 0, 0},
    {"--hold", DURATION, FIELD(hold_ms), 0, DURATION_MAX_MS},
    {"--drain", DURATION, FIELD(drain_ms), 0, DURATION_MAX_MS},
    {"--yield-after", DURATION, FIELD(yield_after_ms), 0, DURATION_MAX_MS},
    {"--connect-timeout", DURATION, FIELD(connect_timeout_ms), 1, DURATION_MAX_MS},
    {"--half-closed", DURATION, FIELD(half_closed_ms), 1, DURATION_MAX_MS},
    {"--leader-timeout", DURATION, FIELD(leader_timeout_ms), 1, DURATION_MAX_MS},
    {"--renew", DURATION, FIELD(renew_ms), 1, DURATION_MAX_MS},
    {"--request-timeout", DURATION, FIELD(request_timeout_ms), 1, DURATION_MAX_MS},
    {"--frequent", DURATION, FIELD(frequent_ms), 1, DURATION_MAX_MS},
    {"--infrequent", DURATION, FIELD(infrequent_ms), 1, DURATION_MAX_MS},
    {"--max-connections", NUMBER, FIELD(max_connections), 1, 1000000},
    {"--buffer", SIZE, FIELD(buffer_bytes), 4096, 16u << 20},
    {"--proxy-protocol", FLAG, FIELD(proxy_protocol), 0, 0},
    {"--endpoint", TEXT, FIELD(endpoint), 0, 0},
    {"--region", TEXT, FIELD(region), 0, 0},
    {"--ca-file", TEXT, FIELD(ca_file), 0, 0},
};

static const struct unit_s {
  kind_t kind;
  const char* name;
  uint32_t factor;
} units[] = {
    {DURATION, "ms", 1},  {DURATION, "s", 1000}, {DURATION, "m", 60000}, {SIZE, "k", 1024},
    {SIZE, "m", 1 << 20}, {SIZE, "", 1},         {NUMBER, "", 1},
};

static bool read_number(const char* text, kind_t kind, uint32_t min, uint32_t max, uint32_t* out) {
  char* end;
  if (text[0] < '0' || text[0] > '9' || strlen(text) > 12)
    return false;
  unsigned long long n = strtoull(text, &end, 10);
  for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
    if (units[i].kind != kind || strcmp(units[i].name, end) != 0)
      continue;
    n *= units[i].factor; /* 12 digits by 2^20 at most: fits */
    *out = (uint32_t)n;
    return n >= min && n <= max;
  }
  return false;
}

static int complain(const char* name, const char* value, const char* advice) {
  fprintf(stderr, "example-tcp-proxy: %s%s%.200s: %s\n", name, value[0] != '\0' ? " " : "", value,
          advice);
  return -1;
}

static int set(options_t* options, size_t i, const char* value) {
  static const char* const advice[] = {
      [TEXT] = "must not be empty",
      [ADDRESS] = "write IP:PORT or [IP6]:PORT",
      [HOST_PORT] = "write HOST:PORT or [IP6]:PORT, with a port of 1 to 65535",
      [DURATION] = "write a duration with its unit, such as 500ms, 2s or 1m",
      [NUMBER] = "write a number from 1 to 1000000",
      [SIZE] = "write a size from 4k to 16m",
  };
  char* field = (char*)options + table[i].at;
  addr_t address;
  host_port_t host_port;
  kind_t kind = table[i].kind;
  bool good;
  if (kind == TEXT)
    good = value[0] != '\0';
  else if (kind == ADDRESS)
    good = addr_parse(value, &address);
  else if (kind == HOST_PORT)
    good = addr_split(value, &host_port);
  else
    good = read_number(value, kind, table[i].min, table[i].max, (uint32_t*)(void*)field);
  if (!good)
    return complain(table[i].name, value, advice[kind]);
  if (kind == TEXT || kind == ADDRESS || kind == HOST_PORT)
    memcpy(field, &value, sizeof value);
  return 0;
}

static int read_all(options_t* options, int argc, char** argv) {
  const size_t count = sizeof table / sizeof table[0];
  for (int a = 1; a < argc; a++) {
    size_t i = 0;
    while (i < count && strcmp(argv[a], table[i].name) != 0)
      i++;
    if (i == count)
      return complain(argv[a], "", "unknown option; see --help");
    if (table[i].kind == FLAG)
      *((char*)options + table[i].at) = true;
    else if (a + 1 == argc)
      return complain(argv[a], "", "needs a value");
    else if (set(options, i, argv[++a]) != 0)
      return -1;
  }
  return 0;
}

static int check(const options_t* options) {
  addr_t address;
  if (options->store == NULL)
    return complain("--store", "", "is required: s3://BUCKET/KEY or file:///DIRECTORY/NAME");
  if (options->id == NULL)
    return complain("--id", "", "is required: a name that no other proxy has");
  if (options->listen == NULL)
    return complain("--listen", "", "is required: where clients connect, such as 0.0.0.0:6379");
  if (options->backend == NULL)
    return complain("--backend", "", "is required: the replica's HOST:PORT");
  if (options->yield_after_ms != 0 && options->yield_after_ms < YIELD_AFTER_MIN_MS)
    return complain("--yield-after", "",
                    "write 500ms or more, so that the backend can be probed several times; or 0s "
                    "to keep leadership while the backend is unreachable");
  if (options->advertise == NULL && addr_parse(options->peer_listen, &address) &&
      addr_is_wildcard(&address))
    return complain("--advertise", "",
                    "is required if --peer-listen is a wildcard address: the HOST:PORT that the "
                    "other proxies connect to");
  return 0;
}

int options_read(options_t* options, int argc, char** argv, int* status) {
  *options = (options_t){
      .peer_listen = "127.0.0.1:0",
      .hold_ms = UINT32_MAX,
      .yield_after_ms = 5000,
      .connect_timeout_ms = 1000,
      .half_closed_ms = 60000,
      .leader_timeout_ms = 15000,
      .frequent_ms = 1000,
      .infrequent_ms = 5000,
      .buffer_bytes = 64 * 1024,
  };
  for (int a = 1; a < argc; a++) {
    if (strcmp(argv[a], "--help") == 0 || strcmp(argv[a], "-h") == 0) {
      fputs(help, stdout);
      *status = 0;
      return -1;
    }
  }
  *status = 2;
  if (read_all(options, argc, argv) != 0 || check(options) != 0)
    return -1;
  if (options->hold_ms == UINT32_MAX)
    options->hold_ms = options->leader_timeout_ms + options->leader_timeout_ms / 4;
  *status = 0;
  return 0;
}
