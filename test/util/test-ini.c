/* util/ini: the shared files of AWS's tools, as people write them, and what is none. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/test.h"
#include "util/ini.h"

/* All items of a text as one line: "[section]", "name=value;" and "parent.name=value;". */
static void expect(const char* text, const char* want) {
  char got[1024];
  size_t n = 0, len = strlen(text);
  s3l_ini_t ini;
  s3l_ini_item_t it;
  char* exact = malloc(len + 1); /* so that a byte too far is seen */
  assert_non_null(exact);
  memcpy(exact, text, len);
  s3l_ini_init(&ini, (s3l_span_t){exact, len});
  while (s3l_ini_next(&ini, &it)) {
    if (it.name.p == NULL)
      n += (size_t)snprintf(got + n, sizeof(got) - n, "[%.*s]", (int)it.section.n, it.section.p);
    else
      n += (size_t)snprintf(got + n, sizeof(got) - n, "%.*s%s%.*s=%.*s;", (int)it.parent.n,
                            it.parent.p == NULL ? "" : it.parent.p, it.parent.p == NULL ? "" : ".",
                            (int)it.name.n, it.name.p, (int)it.value.n, it.value.p);
  }
  if (ini.error != NULL)
    n += (size_t)snprintf(got + n, sizeof(got) - n, "!%zu: %s", ini.line, ini.error);
  got[n] = '\0';
  assert_string_equal(got, want);
  assert_false(s3l_ini_next(&ini, &it)); /* the end stays the end */
  free(exact);
}

static void reads_files(void** state) {
  expect("", "");
  expect("\n\n# only\n  ; comments\n", "");
  expect("[default]\naws_access_key_id = AK\naws_secret_access_key=S/+=\n",
         "[default]aws_access_key_id=AK;aws_secret_access_key=S/+=;");
  expect("\xEF\xBB\xBF[a]\r\nk = v\r\n\r\n[b]\r\n", "[a]k=v;[b]");
  expect("[ profile x ]\t# why\nk\t=\tv w", "[profile x]k=v w;");
  expect("[profile \"a b\"]\n[profile x];c\nk=", "[profile \"a b\"][profile x]k=;");
  expect("[a]\nk=1\n[b]\nk=2\n[a]\nk=3", "[a]k=1;[b]k=2;[a]k=3;");
}

static void knows_comments(void** state) {
  expect("[a]\nk = v # no\nl = v ; no\nm = v#yes;yes\nn = #no\no\t=v\t;no",
         "[a]k=v;l=v;m=v#yes;yes;n=;o=v;");
  expect("[a]\nk = cmd \"a # b\" c # d", "[a]k=cmd \"a # b\" c;");
}

static void nests(void** state) {
  expect("[a]\ns3 =\n  endpoint_url = http://x\n\n  # no\n\tuse = y\nregion = r\n  more\n",
         "[a]s3=;s3.endpoint_url=http://x;s3.use=y;region=r\n  more;");
  expect("[a]\nk = v # no\n  w # no\nl = x", "[a]k=v # no\n  w;l=x;");
  expect("[a]\n  k = v", "[a]k=v;");
  expect("[a]\ns3 =\n[b]\n  k = v", "[a]s3=;[b]k=v;");
}

static void names_errors(void** state) {
  expect("[a]\n\nnonsense\n[b]",
         "[a]!3: must be \"name = value\", a section in brackets, or a comment");
  expect("k = v", "!1: a property must stand in a section");
  expect("[a", "!1: a section's name must end with ']'");
  expect("[a] b", "!1: nothing may stand behind the ']' of a section's name");
  expect("[a]\n= v", "[a]!2: a property must have a name before its '='");
  expect("[a]\ns3 =\n  x", "[a]s3=;!3: an indented line must be \"name = value\"");
  s3l_ini_t ini;
  s3l_ini_item_t it;
  s3l_ini_init(&ini, (s3l_span_t){"[a]\nk=\0v", 9});
  assert_true(s3l_ini_next(&ini, &it));
  assert_false(s3l_ini_next(&ini, &it));
  assert_string_equal(ini.error, "must not hold a NUL");
  assert_int_equal(ini.line, 2);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(reads_files),
      cmocka_unit_test(knows_comments),
      cmocka_unit_test(nests),
      cmocka_unit_test(names_errors),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
