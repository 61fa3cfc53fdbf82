/* test/lib/any_store.h: the store that a test runs on. A test with the label "every-store" runs on
 * the fake S3, and once more on the fake Azure and on the fake Google store; see
 * test/CMakeLists.txt. */
#ifndef S3L_TEST_ANY_STORE_H
#define S3L_TEST_ANY_STORE_H

#include <stdbool.h>
#include <uv.h>

#include "s3lect/store.h"

/** "s3", "azure" or "gcs": the environment variable S3L_TEST_STORE, if the test has not chosen; if
 * there is none, S3. It is the fake S3's protocol, too. */
const char* s3l_any_store(void);
bool s3l_any_store_is(const char* name);
void s3l_any_store_choose(const char* name);

typedef struct s3l_any_store_options_s {
  const char* url; /* of the fake S3 */
  const char* bucket;
  const char* secret;  /* NULL: the one that the fake accepts unless its options name others */
  const char* ca_file; /* NULL: none */
  uint32_t max_connections;
} s3l_any_store_options_t;

/** Opens a store of that kind. */
void s3l_any_store_open(uv_loop_t* loop, s3lect_store_t* store,
                        const s3l_any_store_options_t* options);

/** For the command: what --store is for a key of a bucket, and the keys, as variables of the
 * environment that NULL ends. */
const char* s3l_any_store_url(const char* bucket, const char* key, char* out, size_t cap);
const char* const* s3l_any_store_keys(void);

/** Google takes one write a second to an object, so that electors renew no faster. The interval for
 * renewals, and a leader timeout for it, from those of a test that is in more of a hurry. */
uint32_t s3l_any_store_renew_ms(uint32_t ms);
uint32_t s3l_any_store_timeout_ms(uint32_t ms);

#endif
