#include "options_table.h"

#include <stdio.h>
#include <string.h>

#include "suggest.h"
#include "text.h"

#define ELECTING   (CLI_ELECT | CLI_RUN)
#define FOLLOWING  (CLI_ELECT | CLI_RUN | CLI_WATCH)
#define ANY        (CLI_ELECT | CLI_RUN | CLI_WATCH | CLI_STATUS | CLI_VERIFY)
#define READING    (CLI_ELECT | CLI_RUN | CLI_WATCH | CLI_STATUS)

#define AT(member) offsetof(cli_options_t, member), #member

const cli_option_t cli_option_table[] = {
    {"store", "s3://BUCKET/KEY", ANY, false, CLI_KIND_STRING, AT(store), 0,
     "the lockfile that decides the election (required): an object, or\n"
     "with file:///DIRECTORY/NAME a file, for processes of one machine"},
    {"protocol", "lockfile|epochs", ANY, false, CLI_KIND_CHOICE, AT(elector.protocol), 0,
     "lockfile: one object (the default). epochs: one object per\n"
     "leadership, --store KEY + lock-0000000042.json; for stores without\n"
     "If-Match. The same for all candidates"},
    {"keep-epochs", NULL, ELECTING, false, CLI_KIND_FLAG, AT(elector.keep_epochs), 1,
     "leave old epoch files; else a leader removes all but the newest two"},
    {"endpoint", "URL", ANY, true, CLI_KIND_STRING, AT(s3.endpoint), 0,
     "the store, http[s]://HOST[:PORT] (AWS_ENDPOINT_URL_S3, the\n"
     "profile's, else AWS)"},
    {"region", "NAME", ANY, true, CLI_KIND_STRING, AT(s3.region), 0,
     "the region to sign for (AWS_REGION, the profile's, else us-east-1)"},
    {"path-style", NULL, ANY, true, CLI_KIND_FLAG, AT(s3.addressing), S3LECT_ADDRESSING_PATH,
     "name the bucket in the path (default with --endpoint)"},
    {"virtual-host", NULL, ANY, true, CLI_KIND_FLAG, AT(s3.addressing),
     S3LECT_ADDRESSING_VIRTUAL_HOST, "name the bucket in the host name (default on AWS)"},
    {"ca-file", "FILE", ANY, true, CLI_KIND_STRING, AT(s3.ca_file), 0,
     "PEM file of the authorities to trust (AWS_CA_BUNDLE, else the\nsystem's)"},
    {"dualstack", NULL, ANY, true, CLI_KIND_FLAG, AT(s3.use_dualstack), 1,
     "use AWS's hosts that have IPv6 addresses, too"},
    {"proxy", "URL", ANY, true, CLI_KIND_STRING, AT(s3.proxy), 0,
     "go through http://[USER:PASSWORD@]HOST[:PORT], or with \"none\"\n"
     "through no proxy (HTTPS_PROXY, http_proxy, NO_PROXY)"},
    {"profile", "NAME", ANY, true, CLI_KIND_STRING, AT(s3.profile), 0,
     "take credentials from this profile of ~/.aws/config only, and\n"
     "region and endpoint where nothing else says (AWS_PROFILE)"},
    {"header", "'NAME: VALUE'", ANY, true, CLI_KIND_LIST, AT(headers), 0,
     "add a header to every PUT; may be given more than once"},
    {"sse", "AES256|aws:kms|aws:kms:dsse", ANY, true, CLI_KIND_STRING,
     AT(s3.server_side_encryption), 0, "ask for encryption on every PUT"},
    {"sse-kms-key-id", "ID", ANY, true, CLI_KIND_STRING, AT(s3.sse_kms_key_id), 0,
     "the KMS key to use, its ID or ARN (the bucket's, or aws/s3)"},
    {"checksum", NULL, ANY, true, CLI_KIND_FLAG, AT(s3.checksum), 1,
     "send x-amz-checksum-sha256 on every PUT, for Object Lock"},
    {"expected-bucket-owner", "ACCOUNT", ANY, true, CLI_KIND_STRING, AT(s3.expected_bucket_owner),
     0, "refuse to work on a bucket of another account: its 12 digits"},
    {"id", "ID", ELECTING, false, CLI_KIND_STRING, AT(elector.server_id), 0,
     "this candidate's name, unlike any other's (host name and pid)"},
    {"addr", "HOST:PORT", ELECTING, false, CLI_KIND_STRING, AT(elector.server_addr), 0,
     "where others reach this server when it leads; kept in the record"},
    {"leader-timeout", "DUR", READING, false, CLI_KIND_DURATION, AT(elector.leader_timeout_ms), 0,
     "how long a leader that is silent stays leader (15s)"},
    {"renew", "DUR", ELECTING, false, CLI_KIND_DURATION, AT(elector.renew_interval_ms), 0,
     "how often a leader renews (the smaller of a third of\n"
     "--leader-timeout and 5s, or --frequent where that is given)"},
    {"frequent", "DUR", FOLLOWING, false, CLI_KIND_DURATION, AT(elector.frequent_interval_ms), 0,
     "how often a follower looks while leadership is open (the smaller of\n"
     "5s and --infrequent)"},
    {"infrequent", "DUR", FOLLOWING, false, CLI_KIND_DURATION, AT(elector.infrequent_interval_ms),
     0,
     "how often a follower looks while a leader stands, at the least every\n"
     "--leader-timeout (5s, or 30s where it asks the leader)"},
    {"request-timeout", "DUR", ANY, false, CLI_KIND_DURATION, AT(elector.request_timeout_ms), 0,
     "bound on each request to the store (3s, or what fits)"},
    {"grace", "DUR", ELECTING, false, CLI_KIND_DURATION, AT(elector.grace_period_ms), 0,
     "how long a new leader waits before it leads (0s)"},
    {"drift", "RATE", FOLLOWING, false, CLI_KIND_RATE, AT(elector.drift_ppm), 0,
     "bound on the difference of clock rates, as 1% or 10000ppm; the same\n"
     "for all candidates (1%)"},
    {"expiry", "observed|store-clock", ELECTING, false, CLI_KIND_CHOICE, AT(elector.expiry), 0,
     "observed: replace a silent leader when this candidate has seen its\n"
     "record unchanged for --leader-timeout (the default). store-clock:\n"
     "also when the store's own clock says so, which a step of it breaks"},
    {"no-release", NULL, ELECTING, false, CLI_KIND_FLAG, AT(elector.no_release), 1,
     "leave the lockfile to expire in place of releasing it"},
    {"release-timeout", "DUR", ELECTING, false, CLI_KIND_DURATION, AT(elector.release_timeout_ms),
     0, "bound on the release at the end (1s)"},
    {"stop-ack", "DUR", CLI_ELECT, false, CLI_KIND_DURATION, AT(elector.stop_ack_ms), 0,
     "after stopped_leading, release the lockfile only when a line with\n"
     "its epoch comes in on standard input, and not at all if none comes\n"
     "within DUR; standard input must be a pipe or a socket"},
    {"peer-listen", "HOST:PORT", ELECTING, false, CLI_KIND_STRING, AT(server.listen), 0,
     "peer mode: answer others here while leading, and ask the leader in\n"
     "place of the store while not. Becomes --addr where that is not given"},
    {"peer-cert", "FILE", FOLLOWING, false, CLI_KIND_STRING, AT(client.cert_file), 0,
     "this process's certificate (PEM chain), to answer and to ask with"},
    {"peer-key", "FILE", FOLLOWING, false, CLI_KIND_STRING, AT(client.key_file), 0,
     "its key (PEM)"},
    {"peer-ca", "FILE", FOLLOWING, false, CLI_KIND_STRING, AT(client.ca_file), 0,
     "authorities (PEM) that signed the peers' certificates (the system's)"},
    {"peer-client-auth", NULL, ELECTING, false, CLI_KIND_FLAG, AT(peer_client_auth), 1,
     "answer only those who show a certificate that --peer-ca signed"},
    {"peer-path", "PATH", FOLLOWING, false, CLI_KIND_STRING, AT(elector.peer_health_path), 0,
     "where peers are asked (/health/leadership)"},
    {"peer-interval", "DUR", FOLLOWING, false, CLI_KIND_DURATION, AT(elector.peer_interval_ms), 0,
     "how often a leader is asked at the least (--infrequent)"},
    {"peer-timeout", "DUR", FOLLOWING, false, CLI_KIND_DURATION, AT(elector.peer_timeout_ms), 0,
     "how long its answer may take (3s)"},
    {"peer-plain-http", NULL, FOLLOWING, false, CLI_KIND_FLAG, AT(client.plain_http), 1,
     "no TLS between peers: anybody on the way may answer for a leader, so\n"
     "followers go on asking the store now and then"},
    {"peer-metrics", NULL, ELECTING, false, CLI_KIND_FLAG, AT(server.metrics), 1,
     "serve /metrics, for Prometheus, at --peer-listen"},
    {"peer-health", NULL, ELECTING, false, CLI_KIND_FLAG, AT(server.health), 1,
     "serve /livez and /readyz at --peer-listen, whoever leads"},
    {"kill-after", "DUR", CLI_RUN, false, CLI_KIND_DURATION, AT(kill_after_ms), 0,
     "time between SIGTERM and SIGKILL (a quarter of --leader-timeout,\n"
     "at most 5s); shorter on a machine that takes long to kill"},
    {"events", "FILE", CLI_RUN, false, CLI_KIND_STRING, AT(events_file), 0,
     "append the events to FILE, as `s3lect elect` prints them"},
    {"verify-on-start", NULL, ELECTING, false, CLI_KIND_FLAG, AT(elector.verify_on_start), 1,
     "first try whether the store keeps its conditions (about 80\n"
     "requests), and do not stand for election if not"},
    {"quick", NULL, CLI_VERIFY, false, CLI_KIND_FLAG, AT(quick), 1,
     "fewer races of writers: about 80 requests in place of 600"},
    {"json", NULL, CLI_STATUS | CLI_VERIFY, false, CLI_KIND_FLAG, AT(json), 1,
     "print one JSON object"},
    {"help", NULL, ANY, false, CLI_KIND_HELP, 0, "", 0, "print this page"},
};

const size_t cli_option_count = sizeof cli_option_table / sizeof cli_option_table[0];

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

/* The command's name of the library's option, or NULL. */
static const char* name_of(const char* option, bool peer, char name[64]) {
  static const char* const others[][2] = {{"lockfile_path", "the key in --store"},
                                          {"bucket", "the bucket in --store"},
                                          {"directory", "--store"},
                                          {"addressing", "--virtual-host"},
                                          {"client_ca_file", "--peer-ca"}};
  for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
    if (strcmp(option, others[i][0]) == 0)
      return others[i][1];
  for (size_t i = 0; i < cli_option_count; i++) {
    const char* member = cli_option_table[i].member;
    const char* dot = strchr(member, '.');
    bool of_peer = strncmp(member, "server.", 7) == 0 || strncmp(member, "client.", 7) == 0;
    if (strcmp(dot != NULL ? dot + 1 : member, option) != 0 || of_peer != peer)
      continue;
    snprintf(name, 64, "--%s", cli_option_table[i].name);
    return name;
  }
  return NULL;
}

void cli_say_error(const char* before, bool peer, const s3lect_error_t* error) {
  char buf[64];
  const char* name = name_of(error->option, peer, buf);
  if (name != NULL)
    cli_say("%s%s%s", before, name, error->text + strlen(error->option));
  else
    cli_say("%s%s", before, error->text);
}
