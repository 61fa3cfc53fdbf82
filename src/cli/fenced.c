/* cli/fenced.c (L8): `put` and `get`: objects that only the newest leader can write. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store.h"
#include "text.h"
#include "util/span.h"

#define CONTENT_MAX       (64u * 1024 * 1024) /* it is kept in memory */
#define DEFAULT_WITHIN_MS 30000

typedef struct fenced_s {
  cli_once_t once; /* first: start is given its address */
  s3lect_fenced_t req;
  char* content; /* put */
} fenced_t;

/* ---- The epoch, and the content ---- */

/* Returns 0 or CLI_EXIT_USAGE. */
static int read_epoch(const cli_options_t* options, uint64_t* epoch) {
  const char* from = "--epoch";
  const char* text = options->epoch;
  if (text == NULL && options->command == CLI_PUT) {
    from = "S3LECT_EPOCH";
    text = getenv("S3LECT_EPOCH");
  }
  *epoch = 0;
  if (text == NULL && options->command == CLI_GET)
    return 0;
  if (text == NULL) {
    cli_say("no epoch: give --epoch N, or set S3LECT_EPOCH, as s3lect run does for its command");
    return CLI_EXIT_USAGE;
  }
  if (s3l_span_to_u64(s3l_span_cstr(text), epoch) && *epoch != 0)
    return 0;
  cli_say("%s %.64s is no epoch: write the number that s3lect elect or run gave, at least 1", from,
          text);
  return CLI_EXIT_USAGE;
}

/* All of standard input. Returns 0, or an exit status after a line on stderr. */
static int read_content(char** content, size_t* len) {
  size_t cap = 0;
  ssize_t n = 1;
  *len = 0;
  while (n != 0) {
    if (*len == cap) {
      cap = cap == 0 ? 65536 : 2 * cap;
      char* more = realloc(*content, cap);
      if (more == NULL) {
        cli_say("cannot read standard input: out of memory");
        return CLI_EXIT_FAILED;
      }
      *content = more;
    }
    n = read(STDIN_FILENO, *content + *len, cap - *len);
    if (n < 0 && errno != EINTR) {
      cli_say("cannot read standard input: %s", strerror(errno));
      return CLI_EXIT_FAILED;
    }
    *len += n > 0 ? (size_t)n : 0;
    if (*len > CONTENT_MAX) {
      cli_say("standard input is longer than %u MiB: store large content under keys of its own, "
              "and put a pointer to the newest",
              CONTENT_MAX >> 20);
      return CLI_EXIT_USAGE;
    }
  }
  return 0;
}

/* ---- The request ---- */

static int fail(const fenced_t* f, const s3lect_fenced_result_t* r) {
  const cli_options_t* options = f->once.options;
  const char* verb = options->command == CLI_PUT ? "write" : "read";
  if (r->status == S3LECT_ENOTFOUND) {
    cli_say("there is no object %s", options->store);
    return CLI_EXIT_NO_LEADER;
  }
  if (r->status == S3LECT_EFENCED) {
    cli_say("refused: %s is under epoch %" PRIu64 ", and this is epoch %" PRIu64 "%s",
            options->store, r->epoch, f->req.epoch,
            r->outcome == S3LECT_UNCERTAIN ? " (it may have been written before)" : "");
    return CLI_EXIT_FENCED;
  }
  const char* what = s3lect_strerror(r->status);
  const char* unsure =
      r->outcome == S3LECT_UNCERTAIN ? "; it may have been written all the same" : "";
  if (r->message[0] == '\0' || strstr(what, r->message) != NULL)
    cli_say("cannot %s %s: %s%s", verb, options->store, what, unsure);
  else
    cli_say("cannot %s %s: %s (%s)%s", verb, options->store, what, r->message, unsure);
  return CLI_EXIT_FAILED;
}

static void on_done(s3lect_fenced_t* req, const s3lect_fenced_result_t* r) {
  fenced_t* f = req->data;
  if (r->status != 0) {
    f->once.exit_code = fail(f, r);
  } else {
    if (r->body_len > 0)
      (void)fwrite(r->body, 1, r->body_len, stdout);
    f->once.exit_code = cli_flush();
  }
  s3lect_store_close(req->store, NULL);
}

static int start(cli_once_t* once) {
  fenced_t* f = (fenced_t*)once;
  f->req.data = f;
  f->req.key = once->options->elector.lockfile_path;
  f->req.timeout_ms = once->options->within_ms != 0 ? once->options->within_ms : DEFAULT_WITHIN_MS;
  f->req.body_max = CONTENT_MAX;
  f->req.cb = on_done;
  return once->options->command == CLI_PUT ? s3lect_fenced_put(&once->store, &f->req)
                                           : s3lect_fenced_get(&once->store, &f->req);
}

int cli_fenced(const cli_options_t* options) {
  static fenced_t f;
  int r = read_epoch(options, &f.req.epoch);
  if (r == 0 && options->command == CLI_PUT)
    r = read_content(&f.content, &f.req.body_len);
  f.req.body = f.content;
  if (r == 0)
    r = cli_once(&f.once, options, start);
  free(f.content);
  return r;
}
