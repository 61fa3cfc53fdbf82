#include "options_table.h"

#include <stdio.h>
#include <string.h>

#include "text.h"

#define ELECTING           (CLI_ELECT | CLI_RUN | CLI_PLAN)
#define HOLDING            (CLI_ELECT | CLI_RUN)
#define FOLLOWING          (ELECTING | CLI_WATCH)
#define FENCED             (CLI_PUT | CLI_GET)
#define ONE                (FOLLOWING | CLI_STATUS | CLI_VERIFY)
#define ANY                (ONE | CLI_LIST | CLI_AUDIT | FENCED)
#define READING            (FOLLOWING | CLI_STATUS | CLI_LIST)
#define ANY_S3             (ANY | CLI_OPTION_S3)
#define ANY_HTTP           (ANY | CLI_OPTION_HTTP)

#define STRING             CLI_KIND_STRING
#define DURATION           CLI_KIND_DURATION
#define RATE               CLI_KIND_RATE
#define FLAG               CLI_KIND_FLAG
#define CHOICE             CLI_KIND_CHOICE
#define LIST               CLI_KIND_LIST
#define HELP               CLI_KIND_HELP

#define SET(member, value) offsetof(cli_options_t, member), #member, value
#define AT(member)         SET(member, 0)

const cli_option_t cli_option_table[] = {
    {"store", "s3://BUCKET/KEY", ANY, STRING, AT(store),
     "the lockfile that decides the election, or the object of put and get\n"
     "(required). Or az://ACCOUNT/CONTAINER/KEY, in Azure Blob Storage;\n"
     "gs://BUCKET/KEY, in Google Cloud Storage; or a file\n"
     "(file:///DIRECTORY/NAME), for processes on one machine. list, watch:\n"
     "a key that ends with '/' is a prefix of elections"},
    {"protocol", "lockfile|epochs", ONE | CLI_AUDIT, CHOICE, AT(elector.protocol),
     "lockfile: one object (the default). epochs: one object per\n"
     "leadership, named KEY + lock-0000000042.json, for stores without\n"
     "If-Match. Must be the same for all candidates"},
    {"keep-epochs", NULL, ELECTING, FLAG, SET(elector.keep_epochs, 1),
     "keep old epoch files; by default a leader removes all but the\n"
     "newest two"},
    {"endpoint", "URL", ANY_HTTP, STRING, AT(s3.endpoint),
     "the store, http[s]://HOST[:PORT] (AWS_ENDPOINT_URL_S3, the\n"
     "profile's, else AWS; az://: the connection string's, else Azure;\n"
     "gs://: STORAGE_EMULATOR_HOST, else Google)"},
    {"region", "NAME", ANY_S3, STRING, AT(s3.region),
     "the region to sign for (AWS_REGION, the profile's, else us-east-1)"},
    {"path-style", NULL, ANY_S3, FLAG, SET(s3.addressing, S3LECT_ADDRESSING_PATH),
     "name the bucket in the path (default with --endpoint)"},
    {"virtual-host", NULL, ANY_S3, FLAG, SET(s3.addressing, S3LECT_ADDRESSING_VIRTUAL_HOST),
     "name the bucket in the host name (default on AWS)"},
    {"ca-file", "FILE", ANY_HTTP, STRING, AT(s3.ca_file),
     "PEM file of the CA certificates to trust (AWS_CA_BUNDLE, else the\n"
     "system's)"},
    {"dualstack", NULL, ANY_S3, FLAG, SET(s3.use_dualstack, 1),
     "use the AWS hosts that also have IPv6 addresses"},
    {"proxy", "URL", ANY_HTTP, STRING, AT(s3.proxy),
     "the proxy, http://[USER:PASSWORD@]HOST[:PORT], or \"none\"\n"
     "(HTTPS_PROXY, http_proxy, NO_PROXY)"},
    {"profile", "NAME", ANY_S3, STRING, AT(s3.profile),
     "take credentials from this profile of ~/.aws/config only, and region\n"
     "and endpoint if nothing else sets them (AWS_PROFILE)"},
    {"header", "'NAME: VALUE'", ANY_S3, LIST, AT(headers),
     "add a header to every PUT; can be given more than once"},
    {"sse", "AES256|aws:kms|aws:kms:dsse", ANY_S3, STRING, AT(s3.server_side_encryption),
     "request server-side encryption with every PUT"},
    {"sse-kms-key-id", "ID", ANY_S3, STRING, AT(s3.sse_kms_key_id),
     "the KMS key to use, its ID or ARN (the bucket's, or aws/s3)"},
    {"checksum", NULL, ANY_S3, FLAG, SET(s3.checksum, 1),
     "send x-amz-checksum-sha256 with every PUT, for Object Lock"},
    {"expected-bucket-owner", "ACCOUNT", ANY_S3, STRING, AT(s3.expected_bucket_owner),
     "the account that must own the bucket: 12 digits"},
    {"id", "ID", ELECTING, STRING, AT(elector.server_id),
     "the unique name of this candidate (host name and pid)"},
    {"addr", "HOST:PORT", ELECTING, STRING, AT(elector.server_addr),
     "where others reach this server while it leads; part of the record"},
    {"value", "TEXT", HOLDING, STRING, AT(value),
     "what this candidate publishes while it leads, up to 1 KiB of UTF-8:\n"
     "the others see it with status and watch; part of the record"},
    {"value-file", "FILE", HOLDING, STRING, AT(value_file),
     "the same, from FILE; read again on SIGHUP, and then written at once"},
    {"leader-timeout", "DUR", READING, DURATION, AT(elector.leader_timeout_ms),
     "how long a leadership lasts without a renewal (15s)"},
    {"renew", "DUR", ELECTING, DURATION, AT(elector.renew_interval_ms),
     "how often a leader renews (a third of --leader-timeout, at most 5s\n"
     "or, if given, --frequent; at least 1s with gs://)"},
    {"frequent", "DUR", FOLLOWING, DURATION, AT(elector.frequent_interval_ms),
     "how often a follower reads the lockfile while there is no leader\n"
     "(the smaller of 5s and --infrequent)"},
    {"infrequent", "DUR", FOLLOWING, DURATION, AT(elector.infrequent_interval_ms),
     "how often a follower reads the lockfile while there is a leader, at\n"
     "most --leader-timeout (5s, or 30s in peer mode)"},
    {"request-timeout", "DUR", ONE | CLI_LIST | CLI_AUDIT, DURATION, AT(elector.request_timeout_ms),
     "time limit of each request to the store (3s, or less if the other\n"
     "times require it)"},
    {"grace", "DUR", ELECTING, DURATION, AT(elector.grace_period_ms),
     "how long a new leader waits before it acts as leader (0s)"},
    {"drift", "RATE", FOLLOWING, RATE, AT(elector.drift_ppm),
     "maximum difference between clock rates, as 1% or 10000ppm; must be\n"
     "the same for all candidates (1%)"},
    {"expiry", "observed|store-clock", ELECTING, CHOICE, AT(elector.expiry),
     "observed: replace a leader when this candidate has seen its record\n"
     "unchanged for --leader-timeout (the default). store-clock: also when\n"
     "the record is that old by the store's clock; unsafe if that clock is\n"
     "set forward"},
    {"renew-deadline", "DUR", ELECTING, DURATION, AT(elector.renew_deadline_ms),
     "how long before the leader timeout a leader that cannot renew ends\n"
     "its leadership (5ms)"},
    {"warn-before", "DUR", ELECTING, DURATION, AT(elector.warn_before_ms),
     "report expiring so long before a leadership ends that could not be\n"
     "renewed yet"},
    {"priority", "1|2|3", ELECTING, CHOICE, SET(elector.priority, 1),
     "higher goes first: after a release or a leader timeout a candidate\n"
     "of 2 waits up to 500ms longer than one of 3, and one of 1 twice as\n"
     "long (3)"},
    {"no-release", NULL, ELECTING, FLAG, SET(elector.no_release, 1),
     "do not release the lockfile at the end; let it expire"},
    {"release-timeout", "DUR", ELECTING, DURATION, AT(elector.release_timeout_ms),
     "time limit of the release at the end (1s, or 2.5s with gs://)"},
    {"stop-ack", "DUR", CLI_ELECT | CLI_PLAN, DURATION, AT(elector.stop_ack_ms),
     "after stopped_leading, wait up to DUR for a line with its epoch on\n"
     "standard input (a pipe or a socket), and release the lockfile only\n"
     "then"},
    {"peer-listen", "HOST:PORT", ELECTING, STRING, AT(server.listen),
     "peer mode: answer other processes at this address while leading; as\n"
     "a follower, ask the leader instead of the store. Default of --addr"},
    {"peer-cert", "FILE", FOLLOWING, STRING, AT(client.cert_file),
     "certificate chain (PEM) of this process, as server and as client"},
    {"peer-key", "FILE", FOLLOWING, STRING, AT(client.key_file),
     "private key (PEM) of --peer-cert"},
    {"peer-ca", "FILE", FOLLOWING, STRING, AT(client.ca_file),
     "CA certificates (PEM) to verify peers with (the system's)"},
    {"peer-client-auth", NULL, ELECTING, FLAG, SET(peer_client_auth, 1),
     "answer only clients with a certificate that --peer-ca has signed"},
    {"peer-reload", "DUR", FOLLOWING, DURATION, AT(peer_reload_ms),
     "look every DUR whether the files of the certificates have changed,\n"
     "and read them again then, as SIGHUP does at once (never)"},
    {"peer-path", "PATH", FOLLOWING, STRING, AT(elector.peer_health_path),
     "path of the health endpoint of peers (/health/leadership)"},
    {"peer-interval", "DUR", FOLLOWING, DURATION, AT(elector.peer_interval_ms),
     "maximum time between two questions to the leader (--infrequent)"},
    {"peer-timeout", "DUR", FOLLOWING, DURATION, AT(elector.peer_timeout_ms),
     "time limit of its answer (3s)"},
    {"peer-plain-http", NULL, FOLLOWING, FLAG, SET(client.plain_http, 1),
     "no TLS between peers: the network can forge a leader's answer, so\n"
     "followers still read the store from time to time"},
    {"peer-metrics", NULL, ELECTING, FLAG, SET(server.metrics, 1),
     "serve /metrics, for Prometheus, at --peer-listen"},
    {"peer-health", NULL, ELECTING, FLAG, SET(server.health, 1),
     "serve /livez and /readyz at --peer-listen, leader or not"},
    {"http", "[HOST:]PORT", ELECTING, STRING, AT(server.pages_listen),
     "serve /metrics, /livez, /readyz and /leader (200 while leading, else\n"
     "503) in plain HTTP; without HOST to this machine only"},
    {"kill-after", "DUR", CLI_RUN, DURATION, AT(kill_after_ms),
     "time between SIGTERM and SIGKILL (a quarter of --leader-timeout,\n"
     "at most 5s); shorter if this machine is slow to end processes"},
    {"warn-signal", "HUP|INT|QUIT|USR1|USR2|TERM|WINCH", CLI_RUN, STRING, AT(warn_signal),
     "send COMMAND this signal at --warn-before, so that it can finish or\n"
     "flush before it is stopped"},
    {"try", NULL, CLI_RUN, FLAG, SET(try_only, 1),
     "if another process leads, exit with 75 and run nothing"},
    {"within", "DUR", CLI_RUN | FENCED, DURATION, AT(within_ms),
     "run --try: wait for leadership for this long first (do not wait).\n"
     "put, get: give up after this time (30s)"},
    {"conflict-exit", "CODE", CLI_RUN, STRING, AT(conflict_exit_text),
     "with --try: exit with this status instead of 75"},
    {"once", NULL, CLI_RUN, FLAG, SET(once, 1),
     "run the command at most once: exit with 124 if leadership ended\n"
     "before the command did"},
    {"min-hold", "DUR", CLI_RUN, DURATION, AT(min_hold_ms),
     "when the command has ended, keep leading until DUR after leadership\n"
     "began, so that no other machine runs it for the same occasion"},
    {"standby", NULL, CLI_RUN, FLAG, SET(standby, 1),
     "SIGUSR1 ends the command, gives up leadership and stands aside;\n"
     "SIGUSR2 takes part again. Without this the command gets both"},
    {"quiet", NULL, CLI_RUN, FLAG, SET(quiet, 1),
     "print nothing on stderr unless an error makes run fail"},
    {"events", "FILE", CLI_RUN, STRING, AT(events_file),
     "append events to FILE, in the format of `s3lect elect`"},
    {"verify-on-start", NULL, ELECTING, FLAG, SET(elector.verify_on_start, 1),
     "check first that the store honours conditional writes (about 80\n"
     "requests), and exit if it does not"},
    {"epoch", "N", FENCED, STRING, AT(epoch),
     "the epoch of the leadership (put: S3LECT_EPOCH; get: none)"},
    {"quick", NULL, CLI_VERIFY, FLAG, SET(quick, 1),
     "fewer races of writers: about 80 requests instead of 600"},
    {"latency", "DUR", CLI_PLAN, DURATION, AT(latency_ms),
     "how long a request to the store takes at most (100ms)"},
    {"electors", "N", CLI_PLAN, STRING, AT(electors_text),
     "how many electors one process has on the store: says how many\n"
     "connections they need"},
    {"clock-error", "DUR", CLI_AUDIT, DURATION, AT(clock_error_ms),
     "by how much the wall clock of each machine may be wrong (1s)"},
    {"one-machine", NULL, CLI_AUDIT, FLAG, SET(one_machine, 1),
     "all logs are of one machine, which was not started anew: compare\n"
     "them by lease time, which is exact"},
    {"last", "N", CLI_AUDIT, STRING, AT(last_text),
     "of a lockfile in a versioned bucket, read the newest N versions\n"
     "(1000)"},
    {"svg", "FILE", CLI_AUDIT, STRING, AT(svg), "draw who led when"},
    {"json", NULL,
     CLI_ELECT | CLI_WATCH | CLI_STATUS | CLI_LIST | CLI_VERIFY | CLI_AUDIT | CLI_PLAN, FLAG,
     SET(json, 1), "print JSON, on a terminal too"},
    {"help", NULL, ANY, HELP, 0, "", 0, "print this page"},
};

const size_t cli_option_count = sizeof cli_option_table / sizeof cli_option_table[0];

/* Edits (insert, delete, replace) that turn one word into the other. */
static size_t distance(const char* a, size_t a_len, const char* b, size_t b_len) {
  size_t row[CLI_NEAR_NONE + 1];
  if (a_len > CLI_NEAR_NONE || b_len > CLI_NEAR_NONE)
    return CLI_NEAR_NONE;
  for (size_t j = 0; j <= b_len; j++)
    row[j] = j;
  for (size_t i = 1; i <= a_len; i++) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b_len; j++) {
      size_t best = diagonal + (a[i - 1] != b[j - 1]);
      if (row[j] + 1 < best)
        best = row[j] + 1;
      if (row[j - 1] + 1 < best)
        best = row[j - 1] + 1;
      diagonal = row[j];
      row[j] = best;
    }
  }
  return row[b_len];
}

bool cli_is_near(const char* word, size_t len, const char* name, size_t* best) {
  size_t name_len = strlen(name);
  size_t d = distance(word, len, name, name_len);
  if (len >= 3 && len < name_len && memcmp(word, name, len) == 0)
    d = 1;
  if (d > 1 + name_len / 4 || d >= *best)
    return false;
  *best = d;
  return true;
}

const cli_option_t* cli_option_find(const char* name, size_t len) {
  for (size_t i = 0; i < cli_option_count; i++)
    if (strlen(cli_option_table[i].name) == len && memcmp(cli_option_table[i].name, name, len) == 0)
      return &cli_option_table[i];
  return NULL;
}

const cli_option_t* cli_option_nearest(cli_command_t command, const char* word, size_t len) {
  const cli_option_t* found = NULL;
  size_t best = CLI_NEAR_NONE;
  for (size_t i = 0; i < cli_option_count; i++)
    if ((cli_option_table[i].commands & (int)command) != 0 &&
        cli_is_near(word, len, cli_option_table[i].name, &best))
      found = &cli_option_table[i];
  return found;
}

const char* cli_option_of(const char* option, bool peer, char name[CLI_OPTION_SIZE]) {
  static const char* const others[][2] = {{"lockfile_path", "the key in --store"},
                                          {"bucket", "the bucket in --store"},
                                          {"account", "the account in --store"},
                                          {"container", "the container in --store"},
                                          {"directory", "--store"},
                                          {"addressing", "--virtual-host"},
                                          {"client_ca_file", "--peer-ca"},
                                          {"electors", "--electors"},
                                          {"peers", "--peer-plain-http"}};
  for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
    if (strcmp(option, others[i][0]) == 0)
      return others[i][1];
  for (size_t i = 0; i < cli_option_count; i++) {
    const char* member = cli_option_table[i].member;
    const char* dot = strchr(member, '.');
    bool of_peer = strncmp(member, "server.", 7) == 0 || strncmp(member, "client.", 7) == 0;
    if (strcmp(dot != NULL ? dot + 1 : member, option) != 0 || of_peer != peer)
      continue;
    snprintf(name, CLI_OPTION_SIZE, "--%s", cli_option_table[i].name);
    return name;
  }
  return NULL;
}

void cli_say_error(const char* before, bool peer, const s3lect_error_t* error) {
  char buf[CLI_OPTION_SIZE];
  const char* name = cli_option_of(error->option, peer, buf);
  if (name != NULL)
    cli_say("%s%s%s", before, name, error->text + strlen(error->option));
  else
    cli_say("%s%s", before, error->text);
}
