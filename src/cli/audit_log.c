/* cli/audit_log.c: reads the events of `elect` and of `run --events`. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "audit.h"
#include "text.h"
#include "util/json.h"
#include "util/mem.h"
#include "util/timefmt.h"

#define ONE_CLOCK 1 /* of --one-machine */

/* A candidate within a file. */
typedef struct source_s {
  char id[S3LECT_ID_SIZE];
  unsigned number;
  unsigned clock;
  int64_t last_ns; /* lease time of its last event */
  size_t open;     /* its leadership whose end is not logged yet, */
  bool leads;      /* if there is one */
} source_t;

typedef struct reader_s {
  cli_audit_t* audit;
  const cli_options_t* options;
  const char* name;
  unsigned line;
  unsigned* clock; /* the highest number so far */
  source_t* sources;
  size_t sources_len;
} reader_t;

/* What an event says that counts. */
typedef struct event_s {
  char kind[32];
  char id[S3LECT_ID_SIZE];
  char reason[32];
  uint64_t epoch;
  int64_t lease_ns, valid_until_ns, wall_ms;
} event_t;

static int refuse(const reader_t* reader, const char* what) {
  cli_say("%.200s, line %u: %s", reader->name, reader->line, what);
  return CLI_EXIT_USAGE;
}

static int out_of_memory(void) {
  cli_say("out of memory");
  return CLI_EXIT_FAILED;
}

/* ---- Sources ---- */

static source_t* find_source(reader_t* reader, const event_t* event) {
  for (size_t i = 0; i < reader->sources_len; i++)
    if (strcmp(reader->sources[i].id, event->id) == 0)
      return &reader->sources[i];
  source_t* grown = s3l_realloc(reader->sources, (reader->sources_len + 1) * sizeof *grown);
  if (grown == NULL)
    return NULL;
  reader->sources = grown;
  source_t* source = &grown[reader->sources_len++];
  memset(source, 0, sizeof *source);
  memcpy(source->id, event->id, sizeof source->id);
  source->number = reader->audit->sources++;
  source->clock = reader->options->one_machine ? ONE_CLOCK : ++*reader->clock;
  source->last_ns = INT64_MIN;
  return source;
}

static cli_instant_t instant_of(const reader_t* reader, const source_t* source,
                                const event_t* event, int64_t lease_ns) {
  int64_t ahead_ms = event->wall_ms - event->lease_ns / 1000000;
  if (source->clock == ONE_CLOCK) { /* one wall clock, too, so that both give the same order */
    if (reader->audit->ahead_ms == 0)
      reader->audit->ahead_ms = ahead_ms;
    ahead_ms = reader->audit->ahead_ms;
  }
  return (cli_instant_t){.clock = source->clock,
                         .lease_ns = lease_ns,
                         .wall_ms = lease_ns / 1000000 + ahead_ms,
                         .error_ms = reader->options->clock_error_ms};
}

/* The leadership led at this event for certain, unless its validity had passed. */
static void note_alive(const reader_t* reader, source_t* source, const event_t* event) {
  if (!source->leads)
    return;
  cli_leadership_t* l = &reader->audit->all[source->open];
  int64_t alive = event->lease_ns < l->latest.lease_ns ? event->lease_ns : l->latest.lease_ns;
  if (alive > l->certain.lease_ns)
    l->certain = instant_of(reader, source, event, alive);
}

/* A process that was stopped before it could tell of its leadership tells of it when it is over. */
static int note_start(reader_t* reader, source_t* source, const event_t* event) {
  int64_t at = event->lease_ns < event->valid_until_ns ? event->lease_ns : event->valid_until_ns;
  cli_leadership_t* l = cli_audit_add(reader->audit);
  if (l == NULL)
    return out_of_memory();
  memcpy(l->id, event->id, sizeof l->id);
  l->source = source->number;
  l->epoch = event->epoch;
  l->start = l->certain = instant_of(reader, source, event, at);
  l->latest = instant_of(reader, source, event, event->valid_until_ns);
  source->open = reader->audit->len - 1;
  source->leads = true;
  return 0;
}

static int take(reader_t* reader, const event_t* event) {
  source_t* source = find_source(reader, event);
  if (source == NULL)
    return out_of_memory();
  if (event->lease_ns < source->last_ns) { /* the machine has been started anew */
    source->clock = ++*reader->clock;
    source->leads = false;
  }
  source->last_ns = event->lease_ns;
  if (strcmp(event->kind, "started_leading") == 0)
    return note_start(reader, source, event);
  if (!source->leads || reader->audit->all[source->open].epoch != event->epoch) {
    note_alive(reader, source, event);
    return 0;
  }
  cli_leadership_t* l = &reader->audit->all[source->open];
  if (strcmp(event->kind, "renewed") == 0) {
    l->latest = instant_of(reader, source, event, event->valid_until_ns);
  } else if (strcmp(event->kind, "stopped_leading") == 0) {
    l->latest = l->certain = instant_of(reader, source, event, event->valid_until_ns);
    l->ended = true;
    memcpy(l->reason, event->reason, sizeof l->reason);
    source->leads = false;
  }
  note_alive(reader, source, event);
  return 0;
}

/* ---- Lines ---- */

/* An event that says nothing of who leads may lack the rest. */
static int parse(const reader_t* reader, const char* line, size_t len, event_t* event) {
  static s3l_json_t json;
  char time[64];
  memset(event, 0, sizeof *event);
  if (s3l_json_parse(&json, (s3l_span_t){line, len}) != 0 ||
      s3l_json_get_string(&json, S3L_JSON_ROOT, "event", event->kind, sizeof event->kind) != 0)
    return refuse(reader, "no event of s3lect elect: give its output, or the file of run --events");
  if (s3l_json_get_string(&json, S3L_JSON_ROOT, "id", event->id, sizeof event->id) != 0 ||
      s3l_json_get_u64(&json, S3L_JSON_ROOT, "epoch", &event->epoch) != 0 ||
      s3l_json_get_i64(&json, S3L_JSON_ROOT, "lease_ns", &event->lease_ns) != 0 ||
      s3l_json_get_i64(&json, S3L_JSON_ROOT, "valid_until_ns", &event->valid_until_ns) != 0 ||
      s3l_json_get_string(&json, S3L_JSON_ROOT, "time", time, sizeof time) != 0 ||
      !s3l_time_parse_rfc3339(s3l_span_cstr(time), &event->wall_ms))
    return refuse(reader, "the event lacks id, epoch, lease_ns, valid_until_ns or time: it is "
                          "none of s3lect elect (watch sees leaders only from outside)");
  if (event->lease_ns < 0 || event->valid_until_ns < 0)
    return refuse(reader, "the event has a negative lease_ns or valid_until_ns");
  (void)s3l_json_get_string(&json, S3L_JSON_ROOT, "reason", event->reason, sizeof event->reason);
  return 0;
}

static int read_lines(reader_t* reader, FILE* file) {
  char* line = NULL;
  size_t size = 0;
  event_t event;
  int r = 0;
  for (ssize_t n; r == 0 && (n = getline(&line, &size, file)) >= 0;) {
    bool whole = n > 0 && line[n - 1] == '\n';
    size_t len = (size_t)n - whole;
    reader->line++;
    if (len == 0)
      continue;
    if (!whole) { /* a crash may cut the last line */
      cli_say("%.200s, line %u: the last line has no end, and is left out", reader->name,
              reader->line);
      break;
    }
    r = parse(reader, line, len, &event);
    if (r == 0)
      r = take(reader, &event);
  }
  if (r == 0 && ferror(file) != 0) {
    cli_say("%.200s: cannot be read", reader->name);
    r = CLI_EXIT_USAGE;
  }
  free(line);
  return r;
}

int cli_audit_read(cli_audit_t* audit, const cli_options_t* options, FILE* file, const char* name,
                   unsigned* clock) {
  reader_t reader = {.audit = audit, .options = options, .name = name, .clock = clock};
  int r = read_lines(&reader, file);
  s3l_free(reader.sources);
  return r;
}
