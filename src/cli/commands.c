#include <stdio.h>
#include <string.h>

#include "options_table.h"
#include "util/buf.h"

static const struct {
  cli_command_t command;
  int (*run)(const cli_options_t* options);
  const char* name;
  const char* usage;
  const char* summary;
  const char* text;
  const char* examples; /* three */
} commands[] = {
    {CLI_ELECT, cli_elect, "elect", "s3lect elect --store STORE [OPTION]...",
     "take part in the election and print events, one JSON object per line",
     "Takes part in the election until SIGTERM or SIGINT, then ends leadership, releases the\n"
     "lockfile and exits with 0. A second signal exits at once. SIGHUP does the same, except in\n"
     "peer mode with certificates (--peer-...) and with --value-file: there it reads the\n"
     "certificates and the value again, and connections stay open.\n"
     "\n"
     "Prints one line per event on a terminal; else, and with --json, one JSON object per\n"
     "line on standard output:\n"
     "  event           started_leading, stopped_leading, new_leader, renewed, error,\n"
     "                  no_leader (released, gone, or not renewed for its leader timeout),\n"
     "                  expiring (leadership ends in --warn-before unless renewed),\n"
     "                  value (the leader publishes another value) or\n"
     "                  claiming (no leader was found: it waits in case one is active)\n"
     "  id, leader      the ID of this candidate, and of the leader if known\n"
     "  addr            new_leader: the leader's address; \"\" if it gave none\n"
     "  value           value: what the leader of epoch publishes; \"\" for nothing\n"
     "  epoch           the fencing token: grows with every leadership\n"
     "  reason          stopped_leading: expired, lost, resigned, stopped or closed\n"
     "  error, message  error: its name, and one line of text\n"
     "  boottime_ns     CLOCK_BOOTTIME at the event, for other programs\n"
     "  lease_ns        the same instant in lease time: a clock that NTP does not slew, and\n"
     "                  that all processes of this machine share\n"
     "  valid_until_ns  lease time: the end of leadership unless renewed; on stopped_leading\n"
     "                  its end; 0 when not leading\n"
     "  legal_ns        lease time. started_leading, new_leader: the instant from which the\n"
     "                  previous leader could be replaced, as far as this candidate knew.\n"
     "                  claiming: the instant from which this candidate may lead\n"
     "  time            the wall clock, for display\n"
     "\n"
     "With --peer-listen, followers ask the leader instead of the store.\n",
     "  s3lect elect --store s3://my-bucket/locks/db.json --id db-1 --addr 10.0.1.42:5432\n"
     "  s3lect elect --store s3://my-bucket/locks/db.json --leader-timeout 1m --renew 20s\n"
     "  s3lect elect --store file:///var/lib/db/lock.json | while read -r event; do ...; done\n"},
    {CLI_RUN, cli_run, "run", "s3lect run --store STORE [OPTION]... -- COMMAND [ARG]...",
     "run a command only while leader",
     "Waits for leadership, runs COMMAND, and releases the lockfile when COMMAND has ended.\n"
     "Exits with COMMAND's status: 128+N if signal N ended it, 127 if it was not found, 126 if\n"
     "it cannot be executed. Ends by signal N (128+N in a shell) if N came while COMMAND did\n"
     "not run, so that `s3lect run ... && next` continues only after COMMAND. If leadership\n"
     "cannot be renewed, COMMAND gets SIGTERM, then SIGKILL, so that all its processes are\n"
     "gone before leadership ends. It is started again when this process leads again.\n"
     "\n"
     "COMMAND runs in its own process group, with S3LECT_ID and S3LECT_EPOCH in its\n"
     "environment. Standard input becomes /dev/null if it is a terminal. COMMAND must stay in\n"
     "the foreground: processes that it leaves behind are killed when it ends. COMMAND is also\n"
     "killed in time if s3lect itself is killed or stopped: by the process lease-guard, or by\n"
     "lease-keeper if the guard is killed, too. If both are killed, s3lect kills COMMAND; if\n"
     "COMMAND has no cgroup of its own, s3lect then exits without a release, and a systemd\n"
     "unit or a container must end what COMMAND has left behind. While s3lect and lease-guard\n"
     "are both stopped (SIGSTOP), nothing ends COMMAND: let its writes carry S3LECT_EPOCH.\n"
     "While a process of COMMAND cannot be ended (it runs as another user, or hangs in the\n"
     "kernel), s3lect neither releases the lockfile nor takes part in the election, and\n"
     "reports this every --leader-timeout.\n"
     "\n"
     "SIGTERM and SIGINT are passed on. s3lect then waits for COMMAND (SIGKILL follows after\n"
     "--kill-after, or at a second signal), releases and exits. SIGHUP, SIGQUIT, SIGUSR1,\n"
     "SIGUSR2 and SIGWINCH are passed on (with --standby not SIGUSR1 and SIGUSR2); SIGHUP also\n"
     "reads the certificates of peer mode again. A signal that was ignored when s3lect started\n"
     "stays ignored: shells start `s3lect run ... &` in a script with SIGINT ignored, so send\n"
     "SIGTERM there.\n"
     "\n"
     "With --try, s3lect exits with 75 and runs nothing if another process leads, and with 1\n"
     "if the store cannot be used. A record that a crashed leader has left behind is no\n"
     "conflict: s3lect then waits until it leads or sees the record renewed, for a leader\n"
     "timeout or two, even beyond --within. --min-hold keeps the process running, and the\n"
     "lockfile renewed, after COMMAND has ended. A signal ends this earlier, but without a\n"
     "release: others may then lead after the leader timeout.\n"
     "\n"
     "Under systemd (Type=notify) s3lect reports READY=1 when it takes part in the election,\n"
     "its role as STATUS=, STOPPING=1, and WATCHDOG=1 if WatchdogSec= is set.\n",
     "  s3lect run --store s3://my-bucket/locks/worker.json -- ./worker --queue jobs\n"
     "  s3lect run --store s3://my-bucket/locks/w.json -- sh -c 'exec ./w --fence $S3LECT_EPOCH'\n"
     "  s3lect run --store s3://my-bucket/locks/j.json --try --once --min-hold 30s -- ./job\n"},
    {CLI_WATCH, cli_watch, "watch", "s3lect watch --store STORE [OPTION]...",
     "follow who leads, without taking part in the election",
     "Prints a line when the leader has changed, until SIGTERM or SIGINT. On a terminal a view\n"
     "below the lines shows the leader, its epoch, the time since its last renewal, and as a\n"
     "bar the time until others may take over. Else, and with --json, prints one JSON object\n"
     "per line on standard output:\n"
     "  event           new_leader, no_leader (released, gone, or not renewed for its leader\n"
     "                  timeout), value (the leader publishes another value) or error\n"
     "  leader, addr    the leader's ID and address; \"\" if there is none\n"
     "  value           what the leader publishes; \"\" for nothing\n"
     "  epoch           of the newest leadership that was observed\n"
     "  error, message  error: its name, and one line of text\n"
     "  boottime_ns     CLOCK_BOOTTIME at the event\n"
     "  lease_ns        the same instant in lease time (see elect)\n"
     "  time            the wall clock, for display\n"
     "\n"
     "At a prefix (a key that ends with '/', without --protocol epochs) it follows all elections\n"
     "that `s3lect list` shows there, with the further member election, and reads the store\n"
     "every --infrequent: a listing, and each object that has changed.\n"
     "\n"
     "Writes nothing to the store. With --peer-ca or --peer-plain-http it asks the leader, as\n"
     "a follower does, and reads the store only if the leader does not answer. SIGHUP reads\n"
     "the certificates again; without certificates it ends watch as SIGTERM does.\n",
     "  s3lect watch --store s3://my-bucket/locks/db.json\n"
     "  s3lect watch --store s3://my-bucket/locks/db.json --peer-ca /etc/db/ca.pem\n"
     "  s3lect watch --store s3://my-bucket/locks/\n"},
    {CLI_STATUS, cli_status, "status", "s3lect status --store STORE [OPTION]...",
     "print who leads; exit with 3 if nobody does",
     "Reads the lockfile once and prints the leader, its address, since when it leads, its\n"
     "epoch and value, and the time since the last renewal by the store's own clock. Exits with 0 "
     "if\n"
     "there is a leader and with 3 if there is none: there is no lockfile, or it was released,\n"
     "or it is only claimed (on an empty store, in case an earlier leader is still active), or\n"
     "it has not been renewed for the leader timeout and 2 s (--leader-timeout applies if the\n"
     "lockfile does not contain one).\n"
     "\n"
     "With --json prints one JSON object on one line. Later versions may add members.\n"
     "  state               led, absent, released, claiming or expired\n"
     "  leader              the leader; \"\" unless led\n"
     "and, unless absent:\n"
     "  last_leader         the leader that the lockfile names\n"
     "  address             its address; \"\" if it gave none\n"
     "  epoch, transitions  the fencing token; the number of leaderships so far\n"
     "  value               what the leader publishes; \"\" for nothing, and unless led\n"
     "  since               the beginning of the leadership, if known\n"
     "  age_ms              since the last renewal, by the store's clock if it is known\n"
     "  leader_timeout_ms   of the leader; 0 if unknown\n",
     "  s3lect status --store s3://my-bucket/locks/db.json\n"
     "  s3lect status --store s3://my-bucket/locks/db/ --protocol epochs\n"
     "  s3lect status --store s3://my-bucket/locks/db.json --json | jq -r .leader\n"},
    {CLI_LIST, cli_list, "list", "s3lect list --store STORE [OPTION]...",
     "print all elections under a prefix, with their leaders",
     "Lists the objects whose keys begin with the key in --store, and reads those that may be\n"
     "elections: lockfiles, and of epoch files the newest. Exits with 0 if there are elections\n"
     "and each of them has a leader, and with 3 otherwise. Judges as `s3lect status` does.\n"
     "\n"
     "Prints a table on a terminal; else, and with --json, one JSON object per line and\n"
     "election, with the members of `s3lect status --json` and\n"
     "  election            the key of the lockfile, or the prefix of the epoch files\n"
     "  protocol            lockfile or epochs\n"
     "\n"
     "Objects that hold no record of a leader are left out, and counted on standard error.\n",
     "  s3lect list --store s3://my-bucket/locks/\n"
     "  s3lect list --store file:///var/lib/locks/\n"
     "  s3lect list --store s3://my-bucket/locks/ --json | jq -r 'select(.leader == \"\")'\n"},
    {CLI_VERIFY, cli_verify, "verify", "s3lect verify --store STORE [OPTION]...",
     "check whether a store can hold an election; exit with 1 if not",
     "Checks the conditional writes that an election depends on, with temporary objects named\n"
     "KEY.verify-..., which it removes: creates twice, swaps under right, wrong and missing\n"
     "ETags, lets many writers race, reads right after writing. Prints each check, and for\n"
     "each protocol whether it is \"safe\", \"unsafe\" or \"unknown\" on the store, and why.\n"
     "Needs the permission to read, write and delete such objects, and for epoch files to\n"
     "list them. Never uses the lockfile itself.\n"
     "\n"
     "Exits with 0 if the store is safe for the protocol of --protocol (default: lockfile),\n"
     "else with 1. A failed check proves that a store is unsafe; passed checks do not prove\n"
     "that it is safe.\n"
     "\n"
     "With --json prints one JSON object on one line. Later versions may add members.\n"
     "  lockfile, epochs    of each protocol: safe, unsafe or unknown\n"
     "  lockfile_races, epochs_races    the number of races behind each verdict\n"
     "  lockfile_reason, epochs_reason  why it is not safe, as text; \"\" if safe\n"
     "  protocol            the --protocol to use; \"\" if neither is safe\n"
     "  error               the name of the error that ended the checks; \"\" if none did\n"
     "  checks              each with name, expected, seen and verdict\n"
     "  etag_dialect        the form of ETags in If-Match: quoted, bare or unknown\n"
     "  etags_weak          1 if something between here and the store weakens ETags\n"
     "  clock_offset_ms, clock_error_ms  the store's clock minus this machine's, if known\n"
     "  latency_p50_us, latency_p90_us, latency_p99_us, latency_max_us  of the requests\n"
     "  requests, leftovers  requests sent; objects that could not be removed\n",
     "  s3lect verify --store s3://my-bucket/locks/db.json\n"
     "  s3lect verify --store s3://my-bucket/locks/db/ --protocol epochs --quick\n"
     "  s3lect verify --store s3://my-bucket/x --endpoint https://minio.example:9000 --json\n"},
    {CLI_AUDIT, cli_audit, "audit", "s3lect audit [OPTION]... [FILE]...",
     "say whether leaderships ever overlapped; exit with 1 if so",
     "Reads event logs of several processes of one election (what `s3lect elect` prints, or\n"
     "`s3lect run --events` writes; - is standard input), or what a store remembers: the epoch\n"
     "files that --keep-epochs has kept (--store STORE --protocol epochs), or the versions of a\n"
     "lockfile in a versioned bucket (--store STORE). Prints who led when, whether leaderships\n"
     "overlapped, and whether epochs grew. Exits with 0 if all is well, with 1 if something is\n"
     "wrong for certain, and with 2 if the input is no such log.\n"
     "\n"
     "Logs of several machines are compared by wall clocks, of which each may be wrong by\n"
     "--clock-error: an overlap is only wrong if it is longer than that, and possible if it is\n"
     "shorter. Logs of one machine have a common clock: with --one-machine the judgement is\n"
     "exact. A process whose end is not in its log led until its last event for certain, and\n"
     "possibly until its validity ended.\n"
     "\n"
     "With --json prints one JSON object on one line. Later versions may add members.\n"
     "  wrong               1 if something is wrong for certain, else 0\n"
     "  overlaps, possible_overlaps  the numbers of such pairs of leaderships\n"
     "  same_epochs, epoch_fells  pairs with one epoch; pairs of which the later has less\n"
     "  close               hand-overs that are closer than the clocks can tell\n"
     "  unlogged_ends       leaderships without an end\n"
     "  findings            each with what, first and second (which leaderships) and ms\n"
     "  leaderships         each with id, epoch, from, until, at_the_latest and reason\n",
     "  s3lect audit --one-machine one.log two.log --svg leaders.svg\n"
     "  s3lect audit --clock-error 100ms host-1.log host-2.log host-3.log\n"
     "  s3lect audit --store s3://my-versioned-bucket/locks/db.json --last 10000\n"},
    {CLI_PLAN, cli_plan, "plan", "s3lect plan --store STORE [OPTION]...",
     "say what an election with these options does and costs",
     "Takes the options of `s3lect elect`, and prints for how long nobody leads, at most and on\n"
     "average, after a crash, a lost machine, a hand-over and the first start; the requests and\n"
     "USD of a month for the leader and for each follower; the smallest IAM policy; and every\n"
     "combination of options that is unsafe or wasteful, with what to do. Reaches no store.\n"
     "\n"
     "The times hold while the store answers each request within --latency, and while a follower\n"
     "runs; with more followers the mean is less. A simulator checks that they are never\n"
     "exceeded. Exits with 0, with 1 if something is unsafe, and with 2 if an option is wrong.\n"
     "\n"
     "With --json prints one JSON object on one line. Later versions may add members.\n"
     "  crash_worst_ms, crash_mean_ms, lost_machine_..., hand_over_..., first_start_...\n"
     "  leader_puts, leader_lists, leader_gets, follower_...  requests in 30 days, at most\n"
     "  leader_usd, follower_usd, prices, prices_of  what they cost, by which prices\n"
     "  connections         that --electors need\n"
     "  policy              the IAM policy, or the role\n"
     "  advice              each with kind (unsafe or wasteful) and text\n",
     "  s3lect plan --store s3://my-bucket/locks/db.json\n"
     "  s3lect plan --store s3://my-bucket/locks/db.json --leader-timeout 1m --infrequent 20s\n"
     "  s3lect plan --store s3://my-bucket/locks/db.json --electors 10000 --latency 20ms\n"},
    {CLI_PUT, cli_fenced, "put", "s3lect put --store OBJECT [--epoch N] [OPTION]... < CONTENT",
     "write an object that only the newest leader can write",
     "Writes standard input, of up to 64 MiB, to the object, under an epoch: by default the one\n"
     "in S3LECT_EPOCH, which s3lect run sets for its command. The store refuses it if the\n"
     "object is under a greater epoch already: then another process leads, and put exits\n"
     "with 4. This holds however late the write arrives: put reads the object's epoch, and\n"
     "replaces no other version than the one it has read.\n"
     "\n"
     "The epoch is in the object's first line, \"s3lect-fence EPOCH NONCE\"; get leaves it out,\n"
     "and other programs skip it (tail -n +2). An object without this line counts as written\n"
     "under epoch 0. Write the object in no other way, and do not delete it.\n"
     "\n"
     "Exits with 0 when the object has been written, 1 if put failed, 2 after a usage error,\n"
     "4 if a newer leader has written the object.\n",
     "  s3lect put --store s3://my-bucket/state <state.json   # under S3LECT_EPOCH\n"
     "  s3lect put --store s3://my-bucket/state --epoch 42 <state.json\n"
     "  s3lect put --store file:///var/lib/worker/state --within 5s <state.json\n"},
    {CLI_GET, cli_fenced, "get", "s3lect get --store OBJECT [--epoch N] [OPTION]...",
     "print an object that put has written",
     "Prints the object's content, without the line of its epoch, on standard output.\n"
     "\n"
     "With --epoch, it puts the object under this epoch before it prints it: what is printed\n"
     "can no longer be changed by an earlier leader. So a new leader reads what it is going to\n"
     "continue. Without --epoch it only reads.\n"
     "\n"
     "Exits with 0 when the content has been printed, 1 if get failed, 2 after a usage error,\n"
     "3 if there is no object, 4 if the object is under a greater epoch than --epoch.\n",
     "  s3lect get --store s3://my-bucket/state\n"
     "  s3lect get --store s3://my-bucket/state --epoch \"$S3LECT_EPOCH\" >state.json\n"
     "  s3lect get --store file:///var/lib/worker/state --within 5s\n"},
};

#define COMMANDS_LEN (sizeof commands / sizeof commands[0])

int cli_command_run(const cli_options_t* options) {
  size_t i = 0;
  while (commands[i].command != options->command)
    i++;
  return commands[i].run(options);
}

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

const char* cli_command_names(void) {
  static char text[128];
  s3l_buf_t b;
  s3l_buf_init(&b, text, sizeof text);
  for (size_t i = 0; i < COMMANDS_LEN; i++) {
    if (i > 0)
      s3l_buf_puts(&b, i + 1 < COMMANDS_LEN ? ", " : " and ");
    s3l_buf_puts(&b, commands[i].name);
  }
  return s3l_buf_cstr(&b);
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

/* The groups of --help, in its order. */
static const char* const groups[] = {"Store", "Timing", "Peer", "Command", "Other"};

static const char* group_of(const cli_option_t* option) {
  const char* name = option->name;
  if (strncmp(name, "peer-", 5) == 0)
    return groups[2];
  if (option->commands == CLI_RUN)
    return groups[3];
  if (option->kind == CLI_KIND_DURATION || option->kind == CLI_KIND_RATE ||
      strcmp(name, "expiry") == 0)
    return groups[1];
  bool of_store = (option->commands & (CLI_OPTION_S3 | CLI_OPTION_HTTP)) != 0 ||
                  strcmp(name, "store") == 0 || strcmp(name, "protocol") == 0 ||
                  strcmp(name, "keep-epochs") == 0;
  return groups[of_store ? 0 : 4];
}

static void help_group(cli_command_t command, const char* group) {
  bool any = false;
  for (size_t k = 0; k < cli_option_count; k++) {
    const cli_option_t* option = &cli_option_table[k];
    if ((option->commands & (int)command) == 0 || group_of(option) != group)
      continue;
    if (!any)
      printf("\n%s options:\n", group);
    any = true;
    help_option(option);
  }
}

static void help_general(void) {
  printf("s3lect: elects one leader among many processes, using an object store that honours\n"
         "conditional writes (S3, MinIO, Ceph, R2, Azure Blob Storage, Google Cloud Storage).\n"
         "\n"
         "Usage: s3lect COMMAND [OPTION]...\n"
         "\n"
         "Commands:\n");
  for (size_t i = 0; i < COMMANDS_LEN; i++)
    printf("  %-8s %s\n", commands[i].name, commands[i].summary);
  printf("\n"
         "s3lect COMMAND --help describes a command; s3lect --version prints the version.\n"
         "\n"
         "Examples:\n"
         "  s3lect run --store s3://my-bucket/locks/worker.json -- ./worker --queue jobs\n"
         "  s3lect elect --store s3://my-bucket/locks/db.json --id db-1 --addr 10.0.1.42:5432\n"
         "  s3lect status --store s3://my-bucket/locks/db.json\n"
         "  s3lect status --store az://my-account/my-container/locks/db.json\n"
         "  s3lect status --store gs://my-bucket/locks/db.json\n"
         "  s3lect run --store file:///var/lib/worker/lock.json -- ./worker   # on one machine\n"
         "\n"
         "Environment: AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, AWS_REGION,\n"
         "AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL and AWS_CA_BUNDLE, as in AWS's own tools. Without\n"
         "keys there: a profile (AWS_PROFILE), a web identity, or the role of the container or\n"
         "the instance. For az://: AZURE_STORAGE_CONNECTION_STRING, AZURE_STORAGE_KEY or\n"
         "AZURE_STORAGE_SAS_TOKEN, else Entra's identity of the process (AZURE_CLIENT_ID, ...).\n"
         "For gs://: GS_ACCESS_KEY_ID and GS_SECRET_ACCESS_KEY (an HMAC key), else Google's\n"
         "application default credentials (GOOGLE_APPLICATION_CREDENTIALS, ...).\n"
         "\n"
         "Exit status: 0 done, 1 failed, 2 usage error, 3 no leader (status, list) or no\n"
         "object (get), 4 a newer leader has written the object (put, get). run exits with its\n"
         "command's status. If signal N came while the command did not run, or a second signal N\n"
         "ended the release early, s3lect ends by it or exits with 128+N.\n");
}

void cli_help(cli_command_t command) {
  for (size_t i = 0; i < COMMANDS_LEN; i++) {
    if (commands[i].command != command)
      continue;
    printf("Usage: %s\n\n%s", commands[i].usage, commands[i].text);
    for (size_t k = 0; k < sizeof groups / sizeof groups[0]; k++)
      help_group(command, groups[k]);
    printf("\nExamples:\n%s", commands[i].examples);
    printf(
        "\nDUR is a length of time such as 500ms, 1.5s, 2m or 1h. --NAME=VALUE works as well as\n"
        "--NAME VALUE. Defaults are in parentheses.\n");
    return;
  }
  help_general();
}
