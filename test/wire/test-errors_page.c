/* docs/errors.md is made from the tables of errors, and must agree with them. After a change of a
 * table, write the page again with: S3LECT_WRITE_DOCS=1 .../test-wire-errors_page
 *
 * ctest labels: no-valgrind */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/test.h"
#include "s3lect/errno.h"
#include "util/error_kind.h"
#include "wire/azure_reply.h"
#include "wire/gcs_reply.h"
#include "wire/s3_reply.h"

#define PAGE     S3L_TEST_DIR "/../docs/errors.md"
#define PAGE_MAX 65536

static char page[PAGE_MAX];
static size_t page_len;

__attribute__((format(printf, 1, 2))) static void put(const char* format, ...) {
  va_list args;
  va_start(args, format);
  int n = vsnprintf(page + page_len, PAGE_MAX - page_len, format, args);
  va_end(args);
  assert_true(n >= 0 && (size_t)n < PAGE_MAX - page_len);
  page_len += (size_t)n;
}

static void put_codes(void) {
  put("## Codes\n\n"
      "Every function returns 0 or a negative code: one of these, or one of libuv's codes\n"
      "(`UV_*`). `s3lect_strerror` returns the sentence, `s3lect_err_name` the name.\n\n"
      "| code | value | meaning |\n|---|---|---|\n");
#define XX(name, value, kind, text) put("| `S3LECT_%s` | %d | %s |\n", #name, value, text);
  S3LECT_ERRNO_MAP(XX)
#undef XX
}

static const char* operations(unsigned ops) {
  const unsigned reads =
      1u << S3L_S3_GET | 1u << S3L_S3_HEAD | 1u << S3L_S3_LIST | 1u << S3L_S3_SESSION;
  const unsigned writes = 1u << S3L_S3_PUT | 1u << S3L_S3_DELETE;
  if (ops == (reads | writes))
    return "any";
  if (ops == reads)
    return "reads";
  if (ops == writes)
    return "writes";
  if (ops == 1u << S3L_S3_PUT)
    return "PUT";
  if (ops == 1u << S3L_S3_DELETE)
    return "DELETE";
  if (ops == 1u << S3L_S3_LIST)
    return "list";
  if (ops == 1u << S3L_S3_SESSION)
    return "CreateSession";
  if (ops == (1u << S3L_S3_GET | 1u << S3L_S3_HEAD))
    return "GET";
  fail_msg("the page has no name for the operations %x", ops);
  return "";
}

static const char* effect(const s3l_store_row_t* row) {
  const unsigned writes = 1u << S3L_S3_PUT | 1u << S3L_S3_DELETE;
  if ((row->ops & writes) == 0)
    return "none";
  return row->outcome == S3LECT_UNCERTAIN     ? "unknown: read back"
         : row->outcome == S3LECT_NOT_APPLIED ? "none"
                                              : "as the error says";
}

static const char* retried(const s3l_store_row_t* row) {
  if (row->status == S3LECT_EPRECONDITION || row->status == S3LECT_ECONFLICT)
    return "after reading back";
  switch (row->recovery) {
  case S3L_RECOVER_CLOCK:
    return "once, with the store's time";
  case S3L_RECOVER_SKEW_PERHAPS:
    return "once, if the clocks differ by more than 5 min";
  case S3L_RECOVER_REGION:
    return "once, if the reply names another region";
  case S3L_RECOVER_REDIRECT:
    return "once, where the reply says";
  default:
    return s3l_error_is_lasting(row->status) ? "no" : "yes";
  }
}

static void put_rows(const char* title, const s3l_store_row_t* rows, size_t n) {
  put("\n### %s\n\n"
      "| status | code | for | error | effect | retried at once | what to do |\n"
      "|---|---|---|---|---|---|---|\n",
      title);
  for (size_t i = 0; i < n; i++) {
    const s3l_store_row_t* r = &rows[i];
    if (r->advice == NULL)
      continue;
    put(r->first == r->last ? "| %d | " : "| %d-%d | ", r->first, r->last);
    put(r->code != NULL ? "`%s` | " : "%s | ", r->code != NULL ? r->code : "any");
    put("%s | `%s` | %s | %s | %s |\n", operations(r->ops), s3lect_err_name(r->status), effect(r),
        retried(r), r->advice);
  }
}

static void put_replies(void) {
  size_t n;
  put("\n## Replies of the store\n\n"
      "The first matching row decides; the rows of all stores come after those of the store. "
      "\"Code\" "
      "is the\n"
      "`<Code>` in the body, or Azure's header `x-ms-error-code`; a reply without a code (a "
      "proxy's "
      "page) is\n"
      "classified by its status alone. \"Effect\" says whether a write with this reply took "
      "effect: "
      "if this is\n"
      "unknown, s3lect reads the lockfile back before anything else.\n");
  const s3l_store_row_t* rows = s3l_s3_rows(&n);
  put_rows("S3", rows, n);
  rows = s3l_azure_rows(&n);
  put_rows("Azure Blob Storage", rows, n);
  rows = s3l_gcs_rows(&n);
  put_rows("Google Cloud Storage", rows, n);
  rows = s3l_http_rows(&n);
  put_rows("All stores", rows, n);
}

static void make_page(void) {
  put("# Errors\n\n"
      "<!-- Made from include/s3lect/errno.h and src/wire/*_errors.h by "
      "test/wire/test-errors_page.c: edit those. -->\n\n"
      "This page lists the errors, what s3lect does about each, and what the operator should "
      "do.\n\n"
      "s3lect retries a failed operation at once, after 100 ms and after 1 s, unless an early "
      "retry\n"
      "cannot help. In both cases the election continues with the next interval. Only one error\n"
      "ends it: `S3LECT_EUNSAFE` of `verify_on_start`. (The command ends whenever it finds that "
      "a\n"
      "store is unsafe.)\n\n"
      "A repeated error is reported once, then at intervals that double, up to an hour. A "
      "different\n"
      "error is reported at once, and so is the same error after a while without it.\n\n");
  put_codes();
  put_replies();
}

static void says_what_the_tables_say(void** state) {
  static char there[PAGE_MAX];
  make_page();
  if (getenv("S3LECT_WRITE_DOCS") != NULL) {
    FILE* out = fopen(PAGE, "we");
    assert_non_null(out);
    assert_int_equal(fwrite(page, 1, page_len, out), page_len);
    assert_int_equal(fclose(out), 0);
  }
  FILE* file = fopen(PAGE, "re");
  size_t n = file != NULL ? fread(there, 1, sizeof(there) - 1, file) : 0;
  if (file != NULL)
    fclose(file);
  there[n] = '\0';
  if (strcmp(there, page) != 0)
    fail_msg("%s does not agree with the tables: write it again with S3LECT_WRITE_DOCS=1", PAGE);
}

/* The first matching row decides, so a row that can never be reached is a mistake. */
/* Without rows: those of all stores. */
static void can_be_reached(const s3l_store_row_t* own, size_t own_n) {
  size_t n = own_n;
  const s3l_store_row_t* rows = own != NULL ? own : s3l_http_rows(&n);
  for (size_t i = 0; i < n; i++) {
    bool reached = false;
    for (int http = rows[i].first; http <= rows[i].last && !reached; http++) {
      for (int op = 0; op <= S3L_OP_SESSION && !reached; op++) {
        char code[64];
        snprintf(code, sizeof(code), "%s", rows[i].code != NULL ? rows[i].code : "SomethingElse");
        s3l_store_verdict_t v =
            s3l_store_verdict(own, own_n, (s3l_op_t)op, http, s3l_span_cstr(code));
        reached = (rows[i].ops & 1u << op) != 0 && v.advice == rows[i].advice &&
                  v.status == rows[i].status;
      }
    }
    if (!reached)
      fail_msg("row %zu (%d %s) is never reached", i, rows[i].first,
               rows[i].code != NULL ? rows[i].code : "any");
  }
}

static void every_row_can_be_reached(void** state) {
  size_t n;
  const s3l_store_row_t* rows = s3l_s3_rows(&n);
  can_be_reached(rows, n);
  rows = s3l_azure_rows(&n);
  can_be_reached(rows, n);
  rows = s3l_gcs_rows(&n); /* which has rows of its own for some of those of all stores */
  can_be_reached(rows, n);
  can_be_reached(NULL, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(says_what_the_tables_say),
      cmocka_unit_test(every_row_can_be_reached),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
