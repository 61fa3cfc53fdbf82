#include "elector/options.h"

#include <inttypes.h>
#include <string.h>

#include "core/epochs.h"
#include "core/record.h"
#include "elector/option_checks.h"
#include "elector/peer_client.h"
#include "loop/clock.h"
#include "peer/message.h"
#include "store/store.h"
#include "util/error.h"
#include "util/utf8.h"
#include "util/versioned.h"

#define DEFAULT_FREQUENT_MS       5000
#define DEFAULT_INFREQUENT_MS     5000
#define DEFAULT_PEER_MODE_MS      30000 /* asking the leader costs nothing */
#define DEFAULT_LEADER_TIMEOUT_MS 15000
#define DEFAULT_RELEASE_MS        1000
#define DEFAULT_SLOW_RELEASE_MS   2500 /* a second attempt, if the first comes too soon */
#define DEFAULT_DRIFT_PPM         10000
#define DEFAULT_PEER_TIMEOUT_MS   3000
#define DEFAULT_DEADLINE_MS       ((uint32_t)(S3L_STOP_EARLY / S3L_MS))

#define PREFIX_MAX                (S3L_STORE_KEY_MAX - (S3L_EPOCHS_TAIL_SIZE - 1))
#define DRIFT_PPM_MAX             200000 /* clocks that differ by more cannot hold a lease together */
#define REQUEST_MS_MIN            50     /* a shorter request timeout is not taken as a default */
#define SLOW_WRITES_MS            1000   /* between two writes, where S3LECT_STORE_SLOW_WRITES */

/* A store that has not been opened yet has no flags. */
static bool has_flag(const s3lect_elector_options_t* o, uint32_t flag) {
  return o->store != NULL && o->store->ops != NULL && (o->store->ops->flags & flag) != 0;
}

static bool is_slow(const s3lect_elector_options_t* o) {
  return has_flag(o, S3LECT_STORE_SLOW_WRITES);
}

static void put_defaults(s3lect_elector_options_t* o) {
  o->server_addr = o->server_addr != NULL ? o->server_addr : "";
  o->infrequent_interval_ms =
      s3l_or_default(o->infrequent_interval_ms,
                     o->peer_client != NULL ? DEFAULT_PEER_MODE_MS : DEFAULT_INFREQUENT_MS);
  /* Who looks often under a stable leader does not want to look less often while there is none. */
  o->frequent_interval_ms =
      s3l_or_default(o->frequent_interval_ms, o->infrequent_interval_ms < DEFAULT_FREQUENT_MS
                                                  ? o->infrequent_interval_ms
                                                  : DEFAULT_FREQUENT_MS);
  o->leader_timeout_ms = s3l_or_default(o->leader_timeout_ms, DEFAULT_LEADER_TIMEOUT_MS);
  o->release_timeout_ms = s3l_or_default(o->release_timeout_ms,
                                         is_slow(o) ? DEFAULT_SLOW_RELEASE_MS : DEFAULT_RELEASE_MS);
  o->drift_ppm = s3l_or_default(o->drift_ppm, DEFAULT_DRIFT_PPM);
  o->priority = o->priority != 0 ? o->priority : S3L_PRIORITY_MAX;
  o->renew_deadline_ms = s3l_or_default(o->renew_deadline_ms, DEFAULT_DEADLINE_MS);
  o->peer_interval_ms = s3l_or_default(o->peer_interval_ms, o->infrequent_interval_ms);
  o->peer_timeout_ms = s3l_or_default(o->peer_timeout_ms, DEFAULT_PEER_TIMEOUT_MS);
  if (o->peer_health_path == NULL)
    o->peer_health_path = S3LECT_PEER_HEALTH_PATH;
}

static const s3l_protocol_t* protocol_of(const s3lect_elector_options_t* o) {
  return o->protocol == S3LECT_PROTOCOL_EPOCHS ? &s3l_epoch_files : &s3l_lockfile;
}

/* Puts defaults, which depend on the leader timeout, in place of the zeros of `given`. Returns how
 * many ms are missing for the result to be safe. A frequent interval that is short by default only
 * makes no leader write more often. */
static uint64_t settle_timing(s3lect_elector_options_t* o, const s3lect_elector_options_t* given) {
  uint32_t renew_ms = s3l_default_renew_ms(
      s3l_or_default(given->frequent_interval_ms, DEFAULT_FREQUENT_MS), o->leader_timeout_ms);
  if (is_slow(o) && renew_ms < SLOW_WRITES_MS)
    renew_ms = SLOW_WRITES_MS;
  o->renew_interval_ms = s3l_or_default(given->renew_interval_ms, renew_ms);
  o->request_timeout_ms = given->request_timeout_ms;
  uint32_t requests = protocol_of(o)->renewal_requests;
  uint64_t used_ms = (uint64_t)o->renew_interval_ms + o->renew_deadline_ms - DEFAULT_DEADLINE_MS;
  uint32_t used = used_ms < UINT32_MAX ? (uint32_t)used_ms : UINT32_MAX;
  if (o->request_timeout_ms == 0) {
    uint32_t fits =
        s3l_default_request_timeout_ms(used, o->leader_timeout_ms, o->drift_ppm, requests);
    o->request_timeout_ms = fits > REQUEST_MS_MIN ? fits : REQUEST_MS_MIN;
  }
  return s3l_timing_missing_ms(used, o->request_timeout_ms, o->leader_timeout_ms, o->drift_ppm,
                               requests);
}

/* The shortest leader timeout with which all else would be safe: its defaults grow with it. */
static uint32_t least_leader_timeout(const s3lect_elector_options_t* o,
                                     const s3lect_elector_options_t* given) {
  s3lect_elector_options_t longer = *o;
  for (uint64_t missing = settle_timing(&longer, given); missing > 0;
       missing = settle_timing(&longer, given)) {
    if (longer.leader_timeout_ms > S3L_LEADER_TIMEOUT_MS_MAX)
      break; /* nothing helps */
    uint64_t next = longer.leader_timeout_ms + missing;
    longer.leader_timeout_ms = next < UINT32_MAX ? (uint32_t)next : UINT32_MAX;
  }
  return longer.leader_timeout_ms;
}

static int check_string(s3lect_error_t* error, const char* name, const char* value, size_t max) {
  size_t n = value != NULL ? strlen(value) : 0;
  if (n == 0)
    return s3l_error_say(error, S3LECT_EOPTION, name, NULL, "missing; it is required");
  if (n > max)
    return s3l_error_say(error, S3LECT_EOPTION, name, value,
                         "has %zu bytes; at most %zu are allowed", n, max);
  if (!s3l_utf8_is_valid(s3l_span_cstr(value)))
    return s3l_error_say(error, S3LECT_EOPTION, name, value, "not valid UTF-8");
  return 0;
}

/* Stores differ in which object a key with such a segment names: MinIO and VersityGW take "/a//b"
 * for "a/b", but list it under neither. What follows the last '/' of a prefix is no segment yet. */
static int check_segments(s3lect_error_t* error, const char* key, bool is_prefix) {
  char tidy[S3L_STORE_KEY_MAX + 1];
  size_t len = 0;
  const char* bad = NULL;
  for (const char* at = key;; at++) {
    size_t n = strcspn(at, "/");
    bool last = at[n] == '\0';
    bool dots = (n == 1 || n == 2) && strncmp(at, "..", n) == 0;
    if (!(last && is_prefix) && (n == 0 || dots)) {
      bad = n == 0 ? "an empty segment (a '/' at the start, at the end or doubled)"
                   : "a segment \".\" or \"..\"";
    } else {
      memcpy(tidy + len, at, n + 1);
      len += n + (last ? 0 : 1);
    }
    at += n;
    if (last)
      break;
  }
  if (bad == NULL)
    return 0;
  if (!is_prefix && len > 0 && tidy[len - 1] == '/')
    len--;
  tidy[len] = '\0';
  return s3l_error_say(
      error, S3LECT_EOPTION, "lockfile_path", key,
      "has %s: stores differ in the object that such a key names; write \"%.200s\"", bad,
      len > 0     ? tidy
      : is_prefix ? "jobs/"
                  : "leader.json");
}

/* A leader that renews at every interval is not warned. */
static int check_warning(s3lect_error_t* error, const s3lect_elector_options_t* o) {
  int64_t hold = s3l_lease_hold(o->leader_timeout_ms * S3L_MS, o->drift_ppm) / S3L_MS;
  int64_t most = hold - o->renew_interval_ms - o->renew_deadline_ms;
  if (o->warn_before_ms <= most)
    return 0;
  return s3l_error_say(error, S3LECT_ETIMING, "warn_before_ms", NULL,
                       "%" PRIu32 " ms before the end is before the next renewal is due; lower it "
                       "to %" PRId64 " ms or raise the leader timeout",
                       o->warn_before_ms, most);
}

static int check_timing(s3lect_error_t* error, s3lect_elector_options_t* o,
                        const s3lect_elector_options_t* given) {
  if (o->drift_ppm > DRIFT_PPM_MAX)
    return s3l_error_say(error, S3LECT_EOPTION, "drift_ppm", NULL,
                         "%" PRIu32 " is over the limit of %d (20 %%)", o->drift_ppm,
                         DRIFT_PPM_MAX);
  uint64_t missing = settle_timing(o, given);
  if (missing == 0)
    return check_warning(error, o);
  if (missing <= o->renew_deadline_ms - DEFAULT_DEADLINE_MS)
    return s3l_error_say(error, S3LECT_ETIMING, "renew_deadline_ms", NULL,
                         "%" PRIu32 " ms does not fit into the leader timeout of %" PRIu32
                         " ms beside the renewal interval, the retry schedule and the request "
                         "timeout; lower it to %" PRIu64 " ms or raise the leader timeout",
                         o->renew_deadline_ms, o->leader_timeout_ms,
                         o->renew_deadline_ms - missing);
  return s3l_error_say(error, S3LECT_ETIMING, "leader_timeout_ms", NULL,
                       "%" PRIu32 " ms is unsafe: renewal interval %" PRIu32
                       " ms + retry schedule %d ms + %srequest timeout %" PRIu32
                       " ms must fit into it less %g %% for clock drift; raise it to %" PRIu32
                       " ms or shorten the others by %" PRIu64 " ms",
                       o->leader_timeout_ms, o->renew_interval_ms, S3L_RETRY_TOTAL_MS,
                       protocol_of(o)->renewal_requests > 1 ? "twice the " : "",
                       o->request_timeout_ms, (double)o->drift_ppm / 10000,
                       least_leader_timeout(o, given), missing);
}

/* Whoever has seen the record waits for as long, even when an operator has deleted it. */
static int check_leader_timeout(s3lect_error_t* error, uint32_t ms) {
  if (ms > S3L_LEADER_TIMEOUT_MS_MAX)
    return s3l_error_say(error, S3LECT_EOPTION, "leader_timeout_ms", NULL,
                         "%" PRIu32 " ms is over the limit of 24 hours; for so long nobody could "
                         "take over from a leader that crashed",
                         ms);
  return 0;
}

/* It goes into a request's first line as it is. */
static int check_path(s3lect_error_t* error, const char* path) {
  size_t n = strlen(path);
  if (!s3l_peer_is_path(path))
    return s3l_error_say(error, S3LECT_EOPTION, "peer_health_path", NULL,
                         "must begin with '/' and hold only what a URL may: letters, digits "
                         "and punctuation, no blanks, no '#'");
  if (n > S3L_PEER_PATH_MAX)
    return s3l_error_say(error, S3LECT_EOPTION, "peer_health_path", NULL,
                         "%zu bytes; at most %d are allowed", n, S3L_PEER_PATH_MAX);
  return 0;
}

static int check_deadline(s3lect_error_t* error, uint32_t ms) {
  if (ms < DEFAULT_DEADLINE_MS)
    return s3l_error_say(error, S3LECT_EOPTION, "renew_deadline_ms", NULL,
                         "%" PRIu32 " ms is below %" PRIu32
                         " ms, which the grain of timers needs; raise it or leave it out",
                         ms, DEFAULT_DEADLINE_MS);
  return 0;
}

static int check_slow_writes(s3lect_error_t* error, const s3lect_elector_options_t* o) {
  if (o->renew_interval_ms == 0 || o->renew_interval_ms >= SLOW_WRITES_MS || !is_slow(o))
    return 0;
  return s3l_error_say(error, S3LECT_EOPTION, "renew_interval_ms", NULL,
                       "%" PRIu32 " ms is too short for this store, which takes one write a second "
                       "to an object; raise it to %d ms or more",
                       o->renew_interval_ms, SLOW_WRITES_MS);
}

static int check_priority(s3lect_error_t* error, int32_t priority) {
  if (priority < 1 || priority > S3L_PRIORITY_MAX)
    return s3l_error_say(error, S3LECT_EOPTION, "priority", NULL,
                         "%" PRId32 " is out of range; give 1, 2 or 3, of which 3 goes first",
                         priority);
  return 0;
}

static int check_durations(s3lect_error_t* error, const s3lect_elector_options_t* o) {
#define DURATION(name)                                                                             \
  { offsetof(s3lect_elector_options_t, name), #name }
  static const struct {
    size_t offset;
    const char* name;
  } durations[] = {
      DURATION(frequent_interval_ms), DURATION(infrequent_interval_ms), DURATION(renew_interval_ms),
      DURATION(request_timeout_ms),   DURATION(grace_period_ms),        DURATION(stop_ack_ms),
      DURATION(release_timeout_ms),   DURATION(peer_interval_ms),       DURATION(peer_timeout_ms),
      DURATION(renew_deadline_ms),    DURATION(warn_before_ms),
  };
  int r = 0;
  for (size_t i = 0; r == 0 && i < sizeof durations / sizeof durations[0]; i++) {
    const void* ms = (const char*)o + durations[i].offset;
    r = s3l_check_duration(error, durations[i].name, *(const uint32_t*)ms);
  }
  return r;
}

static int check_protocol(s3lect_error_t* error, const s3lect_elector_options_t* o) {
  if (o->protocol < S3LECT_PROTOCOL_LOCKFILE || o->protocol > S3LECT_PROTOCOL_EPOCHS)
    return s3l_error_say(error, S3LECT_EOPTION, "protocol", NULL,
                         "%" PRId32 " is not an s3lect_protocol_t", o->protocol);
  if (protocol_of(o)->listed && o->store->ops != NULL && o->store->ops->list == NULL)
    return s3l_error_say(error, S3LECT_EOPTION, "protocol", NULL,
                         "epoch files need a store that can list its objects, and this "
                         "one cannot; use S3LECT_PROTOCOL_LOCKFILE or another store");
  return 0;
}

static int check_expiry(s3lect_error_t* error, const s3lect_elector_options_t* o) {
  if (o->expiry < S3LECT_EXPIRY_OBSERVED || o->expiry > S3LECT_EXPIRY_STORE_CLOCK)
    return s3l_error_say(error, S3LECT_EOPTION, "expiry", NULL,
                         "%" PRId32 " is not an s3lect_expiry_t", o->expiry);
  if (o->expiry == S3LECT_EXPIRY_STORE_CLOCK && o->store->ops != NULL &&
      !has_flag(o, S3LECT_STORE_OWN_CLOCK))
    return s3l_error_say(error, S3LECT_EOPTION, "expiry", NULL,
                         "\"store-clock\" (S3LECT_EXPIRY_STORE_CLOCK) needs a store that has a "
                         "clock of its own, and this one tells a local wall clock's time; use "
                         "\"observed\" (S3LECT_EXPIRY_OBSERVED) or an S3 store");
  return 0;
}

/* In fast time a follower takes over early, by the clocks of all others. */
static int check_speed(s3lect_error_t* error, const s3lect_elector_options_t* o) {
  uint32_t speed = s3l_clock_speed();
  if (speed == 0 || o->store->ops == NULL || has_flag(o, S3LECT_STORE_IN_PROCESS))
    return 0;
  return s3l_error_say(error, S3LECT_EOPTION, "store", NULL,
                       "other processes can use it, but in this one time passes %" PRIu32
                       " times as fast (s3lect_testing_speed); use a store in memory",
                       speed);
}

static int check_values(s3lect_error_t* error, s3lect_elector_options_t* o) {
  bool is_prefix = protocol_of(o)->listed;
  bool is_empty = o->lockfile_path != NULL && o->lockfile_path[0] == '\0';
  int r = is_prefix && is_empty ? 0
                                : check_string(error, "lockfile_path", o->lockfile_path,
                                               is_prefix ? PREFIX_MAX : S3L_STORE_KEY_MAX);
  if (r == 0)
    r = check_segments(error, o->lockfile_path, is_prefix);
  if (r == 0)
    r = check_string(error, "server_id", o->server_id, S3LECT_ID_SIZE - 1);
  if (r == 0 && o->server_addr[0] != '\0')
    r = check_string(error, "server_addr", o->server_addr, S3LECT_ADDR_SIZE - 1);
  if (r == 0 && o->store == NULL)
    r = s3l_error_say(error, S3LECT_EOPTION, "store", NULL,
                      "missing; open one with s3lect_store_s3_init or another");
  if (r == 0)
    r = check_speed(error, o);
  if (r == 0)
    r = check_protocol(error, o);
  if (r == 0)
    r = check_leader_timeout(error, o->leader_timeout_ms);
  if (r == 0)
    r = check_durations(error, o);
  if (r == 0)
    r = check_slow_writes(error, o);
  if (r == 0)
    r = check_deadline(error, o->renew_deadline_ms);
  if (r == 0)
    r = check_priority(error, o->priority);
  if (r == 0)
    r = check_expiry(error, o);
  return r != 0 ? r : check_path(error, o->peer_health_path);
}

int s3l_elector_options_settle(s3lect_elector_options_t* o, s3lect_error_t* error) {
  s3lect_elector_options_t given = *o;
  put_defaults(o);
  int r = check_values(error, o);
  return r != 0 ? r : check_timing(error, o, &given);
}

int s3l_elector_options_resolve(const s3lect_elector_options_t* in, s3lect_elector_options_t* out,
                                s3lect_error_t* error) {
  int r = s3l_versioned_copy(error, "s3lect_elector_options", in, out, sizeof *out);
  return r != 0 ? r : s3l_elector_options_settle(out, error);
}

/* Only whom its leader knows by a certificate may be granted leadership (core/grant.h). */
static bool is_known_to_peers(const s3lect_peer_client_t* client) {
  const s3l_peer_client_t* c = client != NULL ? s3l_peer_client_of(client) : NULL;
  return c != NULL && s3l_peer_client_is_known(c);
}

s3l_core_config_t s3l_elector_options_core(const s3lect_elector_options_t* o, const char* id,
                                           const char* addr) {
  return (s3l_core_config_t){
      .protocol = protocol_of(o),
      .id = id,
      .addr = addr,
      .leader_timeout_ms = o->leader_timeout_ms,
      .renew_interval_ms = o->renew_interval_ms,
      .frequent_interval_ms = o->frequent_interval_ms,
      .infrequent_interval_ms = o->infrequent_interval_ms,
      .request_timeout_ms = o->request_timeout_ms,
      .release_timeout_ms = o->release_timeout_ms,
      .grace_period_ms = o->grace_period_ms,
      .stop_ack_ms = o->stop_ack_ms,
      .drift_ppm = o->drift_ppm,
      .renew_deadline_ms = o->renew_deadline_ms,
      .warn_before_ms = o->warn_before_ms,
      .priority = (uint8_t)o->priority,
      .store_clock = o->expiry == S3LECT_EXPIRY_STORE_CLOCK,
      .no_release = o->no_release != 0,
      .observer = o->observer != 0,
      .peer_mode = o->peer_client != NULL,
      .candidacy = is_known_to_peers(o->peer_client),
      .peer_interval_ms = o->peer_interval_ms,
      .peer_timeout_ms = o->peer_timeout_ms,
  };
}

void s3lect_elector_options_init(s3lect_elector_options_t* options, size_t size) {
  memset(options, 0, size);
  options->size = size;
}

int s3lect_elector_options_check(const s3lect_elector_options_t* options, s3lect_error_t* error) {
  s3lect_elector_options_t resolved;
  s3l_error_clear(error);
  return s3l_elector_options_resolve(options, &resolved, error);
}

int s3lect_elector_options_resolve(const s3lect_elector_options_t* options,
                                   s3lect_elector_options_t* resolved, s3lect_error_t* error) {
  s3lect_elector_options_t all;
  size_t size = resolved->size;
  s3l_error_clear(error);
  int r = s3l_versioned_check(error, "resolved", "s3lect_elector_options", size, sizeof all);
  if (r == 0)
    r = s3l_elector_options_resolve(options, &all, error);
  if (r != 0)
    return r;
  memset(resolved, 0, size);
  memcpy(resolved, &all, sizeof all);
  resolved->size = size;
  return 0;
}
