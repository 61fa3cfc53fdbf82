#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "events.h"
#include "list.h"
#include "terminal.h"
#include "text.h"
#include "util/timefmt.h"

typedef struct status_s {
  cli_once_t once; /* first: start is given its address */
  s3lect_list_t list;
} status_t;

static void print_json(const s3lect_election_t* e) {
  char line[CLI_EVENT_LINE];
  s3l_buf_t json;
  cli_json_open(&json, line, sizeof line);
  cli_election_json(e, &json);
  if (cli_json_close(&json) > 0)
    fputs(line, stdout);
}

/* A copy for the terminal. */
static const char* visible(const char* text, char out[S3LECT_ADDR_SIZE]) {
  cli_format(out, S3LECT_ADDR_SIZE, "%s", text);
  cli_visible(out);
  return out;
}

static void print_leader(const cli_terminal_t* terminal, const s3lect_election_t* e) {
  const s3lect_record_t* record = &e->record;
  char since[S3L_TIME_RFC3339_SIZE], span[CLI_SPAN_SIZE], text[S3LECT_ADDR_SIZE];
  printf("leader   %s%s%s\n", cli_style(terminal, CLI_GOOD), visible(cli_election_leader(e), text),
         cli_style(terminal, CLI_PLAIN));
  if (record->leader_addr[0] != '\0')
    printf("address  %s\n", visible(record->leader_addr, text));
  if (record->epoch != 0)
    printf("epoch    %" PRIu64 "\n", record->epoch);
  if (record->value[0] != '\0') {
    char value[S3LECT_VALUE_SIZE];
    cli_format(value, sizeof value, "%s", record->value);
    cli_visible(value);
    printf("value    %s\n", value);
  }
  if (record->acquired_ms != 0) {
    (void)s3l_time_format_rfc3339_ms(record->acquired_ms, since);
    cli_span(cli_wall_ms() - record->acquired_ms, span);
    printf("since    %s (%s)\n", since, span);
  }
  cli_span(e->age_ms, span);
  printf("renewed  %s ago%s\n", span, e->by_store ? "" : " (by this machine's clock)");
}

static void print_no_leader(const cli_options_t* options, const s3lect_election_t* e) {
  char span[CLI_SPAN_SIZE], text[S3LECT_ADDR_SIZE];
  const char* what =
      options->elector.protocol == S3LECT_PROTOCOL_EPOCHS ? "epoch file" : "lockfile";
  const cli_terminal_t* terminal = cli_terminal(options);
  const char* leader = visible(cli_election_leader(e), text);
  cli_span(e->age_ms, span);
  printf("%sno leader%s: ", cli_style(terminal, CLI_WARN), cli_style(terminal, CLI_PLAIN));
  if (e->state == S3LECT_ELECTION_ABSENT)
    printf("there is no %s\n", what);
  else if (e->state == S3LECT_ELECTION_RELEASED)
    printf("%s released the %s %s ago\n", leader, what, span);
  else if (e->state == S3LECT_ELECTION_CLAIMED)
    printf("%s claimed the %s %s ago, and waits in case an earlier leader is active\n", leader,
           what, span);
  else
    printf("%s has not renewed the %s for %s\n", leader, what, span);
}

static int print(const cli_options_t* options, const s3lect_election_t* e) {
  bool led = cli_election_is_led(e);
  if (options->json)
    print_json(e);
  else if (led)
    print_leader(cli_terminal(options), e);
  else
    print_no_leader(options, e);
  int r = cli_flush();
  return r != 0 || led ? r : CLI_EXIT_NO_LEADER;
}

static void on_read(s3lect_list_t* list, int error, const char* message) {
  status_t* status = list->data;
  const cli_options_t* options = status->once.options;
  status->once.exit_code = error == 0 ? print(options, s3lect_list_at(list, 0))
                                      : cli_store_failed(options, error, message);
  s3lect_list_free(list);
  s3lect_store_close(&status->once.store, NULL);
}

static int start(cli_once_t* once) {
  status_t* status = (status_t*)(void*)once;
  status->list.data = status;
  return cli_list_begin(once, &status->list, on_read);
}

int cli_status(const cli_options_t* options) {
  static status_t status;
  return cli_once(&status.once, options, start);
}
