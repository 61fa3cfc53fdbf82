/* docs/credentials.md names every variable that a chain reads, and none that it does not. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "credentials/settings.h"
#include "lib/test.h"

static const char* const read_ones[] = {
#define XX(field, name) name,
    S3L_SETTINGS_AWS(XX) S3L_SETTINGS_AZURE(XX) S3L_SETTINGS_GOOGLE(XX)
#undef XX
};

/* Of which the page speaks for other reasons: a store reads them, or nobody does. */
static const char* const told[] = {"AWS_CREDENTIAL_EXPIRATION", "AZURE_STORAGE_ACCOUNT",
                                   "AZURE_STORAGE_CONNECTION_STRING", "AZURE_STORAGE_KEY",
                                   "AZURE_STORAGE_SAS_TOKEN"};

static char page[65536];

static bool is_in(const char* const* names, size_t n, const char* name, size_t len) {
  for (size_t i = 0; i < n; i++) {
    if (strlen(names[i]) == len && memcmp(names[i], name, len) == 0)
      return true;
  }
  return false;
}

static int read_page(void** state) {
  FILE* f = fopen(S3L_TEST_DIR "/../docs/credentials.md", "r");
  assert_non_null(f);
  page[fread(page, 1, sizeof(page) - 1, f)] = '\0';
  fclose(f);
  return 0;
}

static void every_variable_is_named(void** state) {
  for (size_t i = 0; i < sizeof(read_ones) / sizeof(read_ones[0]); i++) {
    char quoted[80];
    snprintf(quoted, sizeof(quoted), "`%s`", read_ones[i]);
    if (strstr(page, quoted) == NULL)
      fail_msg("%s is not on the page", quoted);
  }
}

static unsigned check_names(const char* prefix) {
  unsigned seen = 0;
  for (const char* at = page; (at = strstr(at, prefix)) != NULL; at++) {
    size_t len = strspn(at + 1, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
    if (at[1 + len] != '`')
      continue; /* a pattern, or a message that begins so */
    seen++;
    if (!is_in(read_ones, sizeof(read_ones) / sizeof(read_ones[0]), at + 1, len) &&
        !is_in(told, sizeof(told) / sizeof(told[0]), at + 1, len))
      fail_msg("%.*s is on the page, but not read", (int)len, at + 1);
  }
  return seen;
}

static void no_other_is(void** state) {
  assert_true(check_names("`AWS_") + check_names("`AZURE_") + check_names("`IDENTITY_") +
                  check_names("`GOOGLE_") + check_names("`CLOUDSDK_") + check_names("`GCE_") +
                  check_names("`NO_GCE_") >=
              sizeof(read_ones) / sizeof(read_ones[0]));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_variable_is_named),
      cmocka_unit_test(no_other_is),
  };
  return cmocka_run_group_tests(tests, read_page, NULL);
}
