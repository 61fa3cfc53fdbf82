#include "commands.h"

#include <stdio.h>
#include <string.h>

#include "options_table.h"
#include "suggest.h"

static const struct {
  cli_command_t command;
  const char* name;
  const char* usage;
  const char* summary;
  const char* text;
} commands[] = {
    {CLI_ELECT, "elect", "s3lect elect --store STORE [OPTION]...",
     "stand in the election and print what happens, one JSON object a line",
     "Stands in the election until SIGTERM or SIGINT, which give up leadership, release\n"
     "the lockfile and exit 0; a second signal exits at once. SIGHUP does the same, but where\n"
     "peers have certificates (--peer-...) it reads these again; connections stay open.\n"
     "\n"
     "Prints one JSON object per line on standard output as things happen:\n"
     "  event           started_leading, stopped_leading, new_leader, renewed, error or\n"
     "                  claiming (no leader was found: it waits in case one is active)\n"
     "  id, leader      this candidate's ID, and the leader's as far as is known\n"
     "  addr            new_leader: the leader's address; \"\" if it gave none\n"
     "  epoch           the fencing token: grows with every leadership\n"
     "  reason          stopped_leading: expired, lost, resigned, stopped or closed\n"
     "  error, message  error: its name, and one line for people\n"
     "  boottime_ns     CLOCK_BOOTTIME when the event was delivered, for other programs\n"
     "  lease_ns        the same instant in lease time: the clock of the next two, which NTP\n"
     "                  does not slew; the same for all processes of this machine\n"
     "  valid_until_ns  lease time: until when leadership holds without a renewal; on\n"
     "                  stopped_leading when it ended; 0 when not leading\n"
     "  legal_ns        started_leading, new_leader; lease time: from when on the leader\n"
     "                  before could be replaced, as far as this candidate knew; claiming:\n"
     "                  from when on this candidate may lead\n"
     "  time            the wall clock, for people\n"
     "\n"
     "With --peer-listen, followers ask the leader in place of the store.\n"},
    {CLI_RUN, "run", "s3lect run --store STORE [OPTION]... -- COMMAND [ARG]...",
     "run a command only while leader",
     "Waits until it leads, runs COMMAND, and releases the lockfile when COMMAND has\n"
     "ended; exits with its status (128+N if signal N ended it, 127 if it was not found,\n"
     "126 if it cannot be executed; 128+N if signal N came while COMMAND did not run, so\n"
     "that `s3lect run ... && next` goes on only after COMMAND). When leadership cannot be\n"
     "renewed, COMMAND gets SIGTERM, then SIGKILL, so that all of it is gone before\n"
     "leadership ends; it is started again once this process leads again.\n"
     "\n"
     "COMMAND runs in a process group of its own, with S3LECT_ID and S3LECT_EPOCH in its\n"
     "environment; standard input, where it is a terminal, becomes /dev/null. It must stay\n"
     "in the foreground: what it leaves running behind is killed when it ends. It is also\n"
     "killed, on time, when s3lect itself is killed or stopped: the process lease-guard\n"
     "does that, and lease-keeper where the guard is killed, too. If both of these are\n"
     "killed, s3lect kills COMMAND, and without a cgroup of COMMAND's own exits without a\n"
     "release: a systemd unit or a container ends what COMMAND has left behind.\n"
     "While a process of COMMAND cannot be ended (it runs as another user, or hangs in the\n"
     "kernel), s3lect neither releases the lockfile nor stands for election again, and\n"
     "says so every --leader-timeout.\n"
     "\n"
     "SIGTERM and SIGINT are passed on, then s3lect waits for COMMAND (SIGKILL follows\n"
     "after --kill-after, or at a second signal), releases and exits. SIGHUP, SIGQUIT,\n"
     "SIGUSR1, SIGUSR2 and SIGWINCH are passed on; SIGHUP also reads the peers' certificates\n"
     "again, where there are any. A signal that s3lect was started with as ignored stays so:\n"
     "shells start `s3lect run ... &` in a script with SIGINT ignored. Send SIGTERM there.\n"},
    {CLI_WATCH, "watch", "s3lect watch --store STORE [OPTION]...",
     "follow who leads, without ever standing for election",
     "Prints one JSON object per line on standard output whenever who leads has changed,\n"
     "until SIGTERM or SIGINT:\n"
     "  event           new_leader, no_leader (released, gone, or silent for its leader\n"
     "                  timeout) or error\n"
     "  leader, addr    the leader's ID and address; \"\" if there is none\n"
     "  epoch           of the newest leadership that was seen\n"
     "  error, message  error: its name, and one line for people\n"
     "  boottime_ns     CLOCK_BOOTTIME when it was seen\n"
     "  lease_ns        the same instant in lease time (see elect)\n"
     "  time            the wall clock, for people\n"
     "\n"
     "Writes nothing to the store. With --peer-ca or --peer-plain-http it asks the leader, as\n"
     "a follower would, and the store only when the leader does not answer. SIGHUP reads the\n"
     "peers' certificates again; where there are none, it ends watch as SIGTERM does.\n"},
    {CLI_STATUS, "status", "s3lect status --store STORE [OPTION]...",
     "print who leads; exit 3 if nobody does",
     "Reads the lockfile once and prints who leads, where, since when, with which epoch,\n"
     "and how long ago it was renewed by the store's own clock. Exits 0 if there is a\n"
     "leader and 3 if there is none: no lockfile, one that was released, one that is only\n"
     "claimed (on an empty store, in case an earlier leader is still active), or one that has\n"
     "not been renewed for its leader timeout and 2 s (--leader-timeout counts where the\n"
     "lockfile names none).\n"
     "\n"
     "With --json prints one JSON object on one line; members may be added to it:\n"
     "  state               led, absent, released, claiming or expired\n"
     "  leader              who leads; \"\" unless led\n"
     "and, unless absent:\n"
     "  last_leader         whom the lockfile names\n"
     "  address             where that one is reached; \"\" if it does not say\n"
     "  epoch, transitions  the fencing token; how many leaderships there were so far\n"
     "  since               the beginning of the leadership, if it is known\n"
     "  age_ms              since the last renewal, by the store's clock if it tells\n"
     "  leader_timeout_ms   of the leader; 0 if it does not say\n"},
    {CLI_VERIFY, "verify", "s3lect verify --store STORE [OPTION]...",
     "try whether a store can hold an election; exit 1 if not",
     "Tries the conditional writes that an election stands on, with temporary objects\n"
     "named KEY.verify-..., which it removes: creates twice, swaps under right, wrong and\n"
     "missing ETags, lets many writers race, reads right after writing. Prints each check,\n"
     "and for each protocol whether it is safe on the store: \"safe\", \"unsafe\" or \"unknown\",\n"
     "with the reason. Needs the permission to read, write and delete such objects, and for\n"
     "epoch files to list them. Never touches the lockfile itself.\n"
     "\n"
     "Exits 0 if the store is safe for the protocol that --protocol names (default: lockfile),\n"
     "else 1. A check that fails convicts a store; checks that pass only fail to convict it.\n"
     "\n"
     "With --json prints one JSON object on one line; members may be added to it:\n"
     "  lockfile, epochs    of each protocol: safe, unsafe or unknown\n"
     "  lockfile_races, epochs_races    how many races of writers each verdict rests on\n"
     "  lockfile_reason, epochs_reason  why not safe, for people; \"\" if safe\n"
     "  protocol            what --protocol should be, \"\" if neither will do\n"
     "  error               the name of the error that was in the way; \"\" if none was\n"
     "  checks              each with name, expected, seen and verdict\n"
     "  etag_dialect        how If-Match wants ETags: quoted, bare or unknown\n"
     "  etags_weak          1 if something on the way weakens ETags\n"
     "  clock_offset_ms, clock_error_ms  the store's clock against this machine's, if known\n"
     "  latency_p50_us, latency_p90_us, latency_p99_us, latency_max_us  of the requests\n"
     "  requests, leftovers  how many were made; objects that could not be removed\n"},
};

#define COMMANDS_LEN (sizeof commands / sizeof commands[0])

cli_command_t cli_command_find(const char* name, const char** hint) {
  size_t best = CLI_NEAR_NONE;
  *hint = NULL;
  for (size_t i = 0; i < COMMANDS_LEN; i++) {
    if (strcmp(name, commands[i].name) == 0)
      return commands[i].command;
    if (cli_is_near(name, strlen(name), commands[i].name, &best))
      *hint = commands[i].name;
  }
  return 0;
}

const char* cli_command_name(int set) {
  for (size_t i = 0; i < COMMANDS_LEN; i++)
    if (((int)commands[i].command & set) != 0)
      return commands[i].name;
  return "elect";
}

/* --- help ----------------------------------------------------------------------------------- */

static void help_option(const cli_option_t* option) {
  enum { COLUMN = 28 };
  char head[64];
  snprintf(head, sizeof head, "  --%s%s%s", option->name, option->meta != NULL ? " " : "",
           option->meta != NULL ? option->meta : "");
  if (strlen(head) + 2 > COLUMN)
    printf("%s\n%-*s", head, COLUMN, "");
  else
    printf("%-*s", COLUMN, head);
  for (const char* p = option->help; *p != '\0'; p++) {
    putchar(*p);
    if (*p == '\n')
      printf("%-*s", COLUMN, "");
  }
  putchar('\n');
}

static void help_general(void) {
  printf("s3lect: elects one leader among many processes, on an object store that honours\n"
         "conditional writes (S3, MinIO, Ceph, R2 and others).\n"
         "\n"
         "Usage: s3lect COMMAND [OPTION]...\n"
         "\n"
         "Commands:\n");
  for (size_t i = 0; i < COMMANDS_LEN; i++)
    printf("  %-8s %s\n", commands[i].name, commands[i].summary);
  printf("\n"
         "s3lect COMMAND --help says more about each; s3lect --version prints the version.\n"
         "\n"
         "Examples:\n"
         "  s3lect run --store s3://my-bucket/locks/worker.json -- ./worker --queue jobs\n"
         "  s3lect elect --store s3://my-bucket/locks/db.json --id db-1 --addr 10.0.1.42:5432\n"
         "  s3lect status --store s3://my-bucket/locks/db.json\n"
         "  s3lect run --store file:///var/lib/worker/lock.json -- ./worker   # on one machine\n"
         "\n"
         "Environment: AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, AWS_REGION,\n"
         "AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL and AWS_CA_BUNDLE, as in AWS's own tools; without\n"
         "keys in it a profile (AWS_PROFILE), a web identity, the container's or the instance's "
         "role.\n"
         "\n"
         "Exit status: 0 done, 1 failed, 2 usage error, 3 no leader (status); run passes on its\n"
         "command's, or 128+N if signal N came while that did not run; 128+N if a second signal N\n"
         "cut the release short.\n");
}

void cli_help(cli_command_t command) {
  for (size_t i = 0; i < COMMANDS_LEN; i++) {
    if (commands[i].command != command)
      continue;
    printf("Usage: %s\n\n%s\nOptions:\n", commands[i].usage, commands[i].text);
    for (size_t k = 0; k < cli_option_count; k++)
      if ((cli_option_table[k].commands & (int)command) != 0)
        help_option(&cli_option_table[k]);
    printf(
        "\nDUR is a length of time such as 500ms, 1.5s, 2m or 1h. --NAME=VALUE works as well as\n"
        "--NAME VALUE. Defaults are in parentheses.\n");
    return;
  }
  help_general();
}
