/* cli/audit.c: `s3lect audit` says whether leaderships overlapped and whether epochs grew, from
 * what processes have logged or a store remembers. */
#include "audit.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "terminal.h"
#include "text.h"
#include "util/timefmt.h"

static const char* const kinds[CLI_FINDINGS] = {[CLI_OVERLAP] = "overlap",
                                                [CLI_POSSIBLE_OVERLAP] = "possible_overlap",
                                                [CLI_SAME_EPOCH] = "same_epoch",
                                                [CLI_EPOCH_FELL] = "epoch_fell"};

/* ---- JSON ---- */

static void print_leadership_json(const cli_leadership_t* l, const char* before) {
  char line[4096];
  s3l_buf_t json;
  s3l_buf_init(&json, line, sizeof line);
  s3l_buf_putc(&json, '{');
  s3l_json_string(&json, "id", l->id);
  s3l_json_u64(&json, "epoch", l->epoch);
  cli_json_time(&json, "from", l->start.wall_ms);
  cli_json_time(&json, "until", l->certain.wall_ms);
  cli_json_time(&json, "at_the_latest", l->latest.wall_ms);
  s3l_json_string(&json, "reason", l->reason);
  s3l_buf_putc(&json, '}');
  printf("%s%s", before, s3l_buf_cstr(&json) != NULL ? line : "{}");
}

static void print_json(const cli_audit_t* audit) {
  printf("{\"wrong\":%d", cli_audit_is_wrong(audit));
  for (int i = 0; i < CLI_FINDINGS; i++)
    printf(",\"%ss\":%zu", kinds[i], audit->count[i]);
  printf(",\"close\":%zu,\"unlogged_ends\":%zu,\"findings\":[", audit->close, audit->unlogged_ends);
  for (size_t i = 0; i < audit->findings_len; i++) {
    const cli_finding_t* f = &audit->findings[i];
    printf("%s{\"what\":\"%s\",\"first\":%zu,\"second\":%zu,\"ms\":%" PRId64 "}", i > 0 ? "," : "",
           kinds[f->kind], f->first, f->second, f->ms);
  }
  printf("],\"leaderships\":[");
  for (size_t i = 0; i < audit->len; i++)
    print_leadership_json(&audit->all[i], i > 0 ? "," : "");
  printf("]}\n");
}

/* ---- Text ---- */

static void name(const cli_leadership_t* l, char text[S3LECT_ID_SIZE + 32]) {
  char id[S3LECT_ID_SIZE];
  memcpy(id, l->id, sizeof id);
  cli_visible(id);
  snprintf(text, S3LECT_ID_SIZE + 32, "%s, epoch %" PRIu64, id, l->epoch);
}

static void print_leadership(const cli_leadership_t* l, int width) {
  char id[S3LECT_ID_SIZE], reason[sizeof l->reason], from[S3L_TIME_RFC3339_SIZE];
  char span[CLI_SPAN_SIZE];
  memcpy(id, l->id, sizeof id);
  memcpy(reason, l->reason, sizeof reason);
  cli_visible(id);
  cli_visible(reason);
  (void)s3l_time_format_rfc3339_ms(l->start.wall_ms, from);
  cli_span(l->certain.wall_ms - l->start.wall_ms, span);
  printf("%s  epoch %-*" PRIu64 "  %-12s  %s%s%s\n", from, width, l->epoch, span, id,
         l->ended ? ": " : ": its end is not known", reason);
}

static void print_finding(const cli_audit_t* audit, const cli_finding_t* f,
                          const cli_terminal_t* terminal) {
  char first[S3LECT_ID_SIZE + 32], second[S3LECT_ID_SIZE + 32], span[CLI_SPAN_SIZE];
  bool maybe = f->kind == CLI_POSSIBLE_OVERLAP;
  name(&audit->all[f->first], first);
  name(&audit->all[f->second], second);
  cli_span(f->ms, span);
  printf("%s%s%s: ", cli_style(terminal, maybe ? CLI_WARN : CLI_BAD), maybe ? "possible" : "wrong",
         cli_style(terminal, CLI_PLAIN));
  switch (f->kind) {
  case CLI_OVERLAP:
    printf("two leaders for %s: %s and %s\n", span, first, second);
    break;
  case CLI_POSSIBLE_OVERLAP:
    printf("two leaders for %s, or clocks that differ, or a leader that ended before its "
           "validity: %s and %s\n",
           span, first, second);
    break;
  case CLI_SAME_EPOCH:
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

static void print_text(const cli_audit_t* audit, const cli_options_t* options) {
  const cli_terminal_t* terminal = cli_terminal(options);
  char span[CLI_SPAN_SIZE];
  int width = 1;
  for (size_t i = 0; i < audit->len; i++)
    if (width_of(audit->all[i].epoch) > width)
      width = width_of(audit->all[i].epoch);
  for (size_t i = 0; i < audit->len; i++)
    print_leadership(&audit->all[i], width);
  printf("\n");
  for (size_t i = 0; i < audit->findings_len; i++)
    print_finding(audit, &audit->findings[i], terminal);
  printf("%zu leaderships of %u source%s: %zu overlaps, %zu possible overlaps, epochs %s\n",
         audit->len, audit->sources, audit->sources == 1 ? "" : "s", audit->count[CLI_OVERLAP],
         audit->count[CLI_POSSIBLE_OVERLAP],
         audit->count[CLI_SAME_EPOCH] + audit->count[CLI_EPOCH_FELL] == 0 ? "grew"
                                                                          : "did not grow");
  cli_span(options->clock_error_ms, span);
  if (audit->close > 0)
    printf("%zu hand-overs were closer than clocks that are wrong by up to %s can tell\n",
           audit->close, span);
}

void cli_audit_print(const cli_audit_t* audit, const cli_options_t* options) {
  if (options->json)
    print_json(audit);
  else
    print_text(audit, options);
}

/* ---- The command ---- */

static int read_files(cli_audit_t* audit, const cli_options_t* options) {
  unsigned clock = 1;
  int r = 0;
  for (size_t i = 0; r == 0 && i < options->files_len; i++) {
    const char* path = options->files[i];
    bool is_stdin = strcmp(path, "-") == 0;
    FILE* file = is_stdin ? stdin : fopen(path, "re");
    if (file == NULL) {
      cli_say("%.200s cannot be opened: %s", path, strerror(errno));
      return CLI_EXIT_USAGE;
    }
    r = cli_audit_read(audit, options, file, is_stdin ? "standard input" : path, &clock);
    if (!is_stdin)
      fclose(file);
  }
  return r;
}

static int report(cli_audit_t* audit, const cli_options_t* options) {
  if (audit->len == 0) {
    cli_say("there is no leadership in it");
    return CLI_EXIT_USAGE;
  }
  if (cli_audit_judge(audit) != 0) {
    cli_say("out of memory");
    return CLI_EXIT_FAILED;
  }
  cli_audit_print(audit, options);
  int r = cli_flush();
  if (r == 0 && options->svg != NULL)
    r = cli_audit_draw(audit, options->svg);
  return r != 0 ? r : cli_audit_is_wrong(audit) ? CLI_EXIT_FAILED : 0;
}

int cli_audit(const cli_options_t* options) {
  static cli_options_t with_defaults;
  cli_audit_t audit = {0};
  with_defaults = *options;
  if (with_defaults.clock_error_ms == 0)
    with_defaults.clock_error_ms = 1000;
  options = &with_defaults;
  int r =
      options->files_len > 0 ? read_files(&audit, options) : cli_audit_read_store(&audit, options);
  if (r == 0)
    r = report(&audit, options);
  cli_audit_free(&audit);
  return r;
}
