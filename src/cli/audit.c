/* cli/audit.c: `s3lect audit` says whether leaderships overlapped and whether epochs grew, from
 * what processes have logged or a store remembers. */
#include "audit.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store.h"
#include "terminal.h"
#include "text.h"
#include "util/timefmt.h"

typedef struct cli_audit_s {
  cli_once_t once; /* first: start is given its address */
  s3lect_audit_t audit;
  const s3lect_audit_report_t* report;
} cli_audit_t;

/* ---- JSON ---- */

static void print_leadership_json(const s3lect_leadership_t* l, const char* before) {
  char line[4096];
  s3l_buf_t json;
  s3l_buf_init(&json, line, sizeof line);
  s3l_buf_putc(&json, '{');
  s3l_json_string(&json, "id", l->id);
  s3l_json_u64(&json, "epoch", l->epoch);
  cli_json_time(&json, "from", l->from_ms);
  cli_json_time(&json, "until", l->until_ms);
  cli_json_time(&json, "at_the_latest", l->latest_ms);
  s3l_json_string(&json, "reason", l->reason);
  s3l_buf_putc(&json, '}');
  printf("%s%s", before, s3l_buf_cstr(&json) != NULL ? line : "{}");
}

static void print_json(const cli_audit_t* a) {
  const s3lect_audit_report_t* report = a->report;
  printf("{\"wrong\":%d,\"overlaps\":%zu,\"possible_overlaps\":%zu,\"same_epochs\":%zu,"
         "\"epoch_fells\":%zu,\"close\":%zu,\"unlogged_ends\":%zu,\"findings\":[",
         report->wrong, report->overlaps, report->possible_overlaps, report->same_epochs,
         report->epochs_fell, report->close, report->unlogged_ends);
  for (size_t i = 0; i < report->findings; i++) {
    const s3lect_finding_t* f = s3lect_audit_finding(&a->audit, i);
    printf("%s{\"what\":\"%s\",\"first\":%zu,\"second\":%zu,\"ms\":%" PRId64 "}", i > 0 ? "," : "",
           s3lect_finding_name(f->kind), f->first, f->second, f->ms);
  }
  printf("],\"leaderships\":[");
  for (size_t i = 0; i < report->leaderships; i++)
    print_leadership_json(s3lect_audit_leadership(&a->audit, i), i > 0 ? "," : "");
  printf("]}\n");
}

/* ---- Text ---- */

static void name(const s3lect_leadership_t* l, char text[S3LECT_ID_SIZE + 32]) {
  char id[S3LECT_ID_SIZE];
  memcpy(id, l->id, sizeof id);
  cli_visible(id);
  snprintf(text, S3LECT_ID_SIZE + 32, "%s, epoch %" PRIu64, id, l->epoch);
}

static void print_leadership(const s3lect_leadership_t* l, int width) {
  char id[S3LECT_ID_SIZE], reason[sizeof l->reason], from[S3L_TIME_RFC3339_SIZE];
  char span[CLI_SPAN_SIZE];
  memcpy(id, l->id, sizeof id);
  memcpy(reason, l->reason, sizeof reason);
  cli_visible(id);
  cli_visible(reason);
  (void)s3l_time_format_rfc3339_ms(l->from_ms, from);
  cli_span(l->until_ms - l->from_ms, span);
  printf("%s  epoch %-*" PRIu64 "  %-12s  %s%s%s\n", from, width, l->epoch, span, id,
         l->ended ? ": " : ": its end is not known", reason);
}

static void print_finding(const s3lect_audit_t* audit, const s3lect_finding_t* f,
                          const cli_terminal_t* terminal) {
  char first[S3LECT_ID_SIZE + 32], second[S3LECT_ID_SIZE + 32], span[CLI_SPAN_SIZE];
  bool maybe = f->kind == S3LECT_FINDING_POSSIBLE_OVERLAP;
  name(s3lect_audit_leadership(audit, f->first), first);
  name(s3lect_audit_leadership(audit, f->second), second);
  cli_span(f->ms, span);
  printf("%s%s%s: ", cli_style(terminal, maybe ? CLI_WARN : CLI_BAD), maybe ? "possible" : "wrong",
         cli_style(terminal, CLI_PLAIN));
  switch (f->kind) {
  case S3LECT_FINDING_OVERLAP:
    printf("two leaders for %s: %s and %s\n", span, first, second);
    break;
  case S3LECT_FINDING_POSSIBLE_OVERLAP:
    printf("two leaders for %s, or clocks that differ, or a leader that ended before its "
           "validity: %s and %s\n",
           span, first, second);
    break;
  case S3LECT_FINDING_SAME_EPOCH:
    printf("one epoch for two leaderships: %s and %s\n", first, second);
    break;
  default:
    printf("the epoch fell: %s, then %s\n", first, second);
  }
}

static int width_of(uint64_t number) {
  char text[24];
  return snprintf(text, sizeof text, "%" PRIu64, number);
}

static void print_text(const cli_audit_t* a) {
  const s3lect_audit_report_t* report = a->report;
  const cli_terminal_t* terminal = cli_terminal(a->once.options);
  char span[CLI_SPAN_SIZE];
  int width = 1;
  for (size_t i = 0; i < report->leaderships; i++)
    if (width_of(s3lect_audit_leadership(&a->audit, i)->epoch) > width)
      width = width_of(s3lect_audit_leadership(&a->audit, i)->epoch);
  for (size_t i = 0; i < report->leaderships; i++)
    print_leadership(s3lect_audit_leadership(&a->audit, i), width);
  printf("\n");
  for (size_t i = 0; i < report->findings; i++)
    print_finding(&a->audit, s3lect_audit_finding(&a->audit, i), terminal);
  printf("%zu leaderships of %u source%s: %zu overlaps, %zu possible overlaps, epochs %s\n",
         report->leaderships, report->sources, report->sources == 1 ? "" : "s", report->overlaps,
         report->possible_overlaps,
         report->same_epochs + report->epochs_fell == 0 ? "grew" : "did not grow");
  cli_span(a->once.options->clock_error_ms, span);
  if (report->close > 0)
    printf("%zu hand-overs were closer than clocks that are wrong by up to %s can tell\n",
           report->close, span);
}

/* ---- Logs ---- */

static int failed(int error) {
  cli_say("%s", error == UV_ENOMEM ? "out of memory" : s3lect_strerror(error));
  return CLI_EXIT_FAILED;
}

static int read_lines(cli_audit_t* a, uint32_t log, FILE* file, const char* name) {
  s3lect_error_t error;
  char* line = NULL;
  size_t size = 0;
  unsigned number = 0;
  int r = 0;
  for (ssize_t n; r == 0 && (n = getline(&line, &size, file)) >= 0;) {
    bool whole = n > 0 && line[n - 1] == '\n';
    size_t len = (size_t)n - whole;
    number++;
    if (len == 0)
      continue;
    if (!whole) { /* a crash may cut the last line */
      cli_say("%.200s, line %u: the last line has no end, and is left out", name, number);
      break;
    }
    int err = s3lect_audit_add_event(&a->audit, log, line, len, &error);
    if (err == S3LECT_ERECORD) {
      cli_say("%.200s, line %u: %s", name, number, error.text);
      r = CLI_EXIT_USAGE;
    } else if (err != 0) {
      r = failed(err);
    }
  }
  if (r == 0 && ferror(file) != 0) {
    cli_say("%.200s: cannot be read", name);
    r = CLI_EXIT_USAGE;
  }
  free(line);
  return r;
}

static int read_files(cli_audit_t* a) {
  const cli_options_t* options = a->once.options;
  int r = 0;
  for (size_t i = 0; r == 0 && i < options->files_len; i++) {
    const char* path = options->files[i];
    bool is_stdin = strcmp(path, "-") == 0;
    FILE* file = is_stdin ? stdin : fopen(path, "re");
    if (file == NULL) {
      cli_say("%.200s cannot be opened: %s", path, strerror(errno));
      return CLI_EXIT_USAGE;
    }
    r = read_lines(a, (uint32_t)i, file, is_stdin ? "standard input" : path);
    if (!is_stdin)
      fclose(file);
  }
  return r;
}

/* ---- A store ---- */

static void on_read(s3lect_audit_t* audit, int error, const char* message) {
  cli_audit_t* a = audit->data;
  a->once.exit_code = error == 0 ? 0 : cli_store_failed(a->once.options, error, message);
  s3lect_store_close(&a->once.store, NULL);
}

static int start(cli_once_t* once) {
  cli_audit_t* a = (cli_audit_t*)(void*)once;
  s3lect_list_options_t election = cli_list_options(once);
  return s3lect_audit_read(&a->audit, &election, on_read, NULL);
}

static int read_store(cli_audit_t* a) {
  const cli_options_t* options = a->once.options;
  if (options->kind != CLI_STORE_S3 && options->elector.protocol != S3LECT_PROTOCOL_EPOCHS) {
    cli_say("--store %.200s: of a lockfile there, no versions can be read: give event logs",
            options->store);
    return CLI_EXIT_USAGE;
  }
  return cli_once(&a->once, options, start);
}

/* ---- The command ---- */

static int report(cli_audit_t* a) {
  const cli_options_t* options = a->once.options;
  int r = s3lect_audit_judge(&a->audit, &a->report);
  if (r != 0)
    return failed(r);
  if (a->report->leaderships == 0) {
    cli_say("there is no leadership in it");
    return CLI_EXIT_USAGE;
  }
  if (a->report->more_versions)
    cli_say("only the newest %u versions of %s are read: --last N reads more", options->last,
            options->store);
  if (options->json)
    print_json(a);
  else
    print_text(a);
  r = cli_flush();
  if (r == 0 && options->svg != NULL)
    r = cli_audit_draw(&a->audit, a->report, options->svg);
  return r != 0 ? r : a->report->wrong ? CLI_EXIT_FAILED : 0;
}

int cli_audit(const cli_options_t* given) {
  static cli_audit_t a;
  static cli_options_t options;
  s3lect_audit_options_t limits;
  options = *given;
  if (options.clock_error_ms == 0)
    options.clock_error_ms = 1000;
  a.once.options = &options;
  a.audit.data = &a;
  s3lect_audit_options_init(&limits, sizeof limits);
  limits.clock_error_ms = options.clock_error_ms;
  limits.one_machine = options.one_machine != 0;
  limits.max_versions = options.last;
  int r = s3lect_audit_init(&a.audit, &limits, NULL);
  if (r != 0)
    return failed(r);
  r = options.files_len > 0 ? read_files(&a) : read_store(&a);
  if (r == 0)
    r = report(&a);
  s3lect_audit_free(&a.audit);
  return r;
}
