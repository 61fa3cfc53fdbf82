/* test/lib/creds_store.h: a fake store beside the rig of credentials, and a store that uses it with
 * what the rig's services give. One at a time. */
#ifndef TEST_LIB_CREDS_STORE_H
#define TEST_LIB_CREDS_STORE_H

#include "fakes3/fakes3.h"
#include "lib/creds_rig.h"

typedef struct creds_store_s {
  s3l_creds_rig_t* rig;
  fakes3_t* fake;
  s3lect_store_t store; /* which the test opens on rig->loop */
  s3l_store_suite_t suite;
  s3l_suite_req_t r;
} creds_store_t;

extern creds_store_t creds_store; /* which all functions here use */

/** Begins the rig with its scripts, and the fake on the rig's loop. */
void creds_store_begin(s3l_creds_rig_t* creds, const s3l_step_t* const* scripts, size_t n,
                       const fakes3_options_t* options);
/** Closes the store, and ends both. */
void creds_store_end(void);

/** Creates the object "k", or reads it: the status. */
int creds_store_put(void);
int creds_store_get(void);
/** Whose key or token the newest request to the store carried; "": none. */
const char* creds_store_key(void);
/** A read that must succeed, with this key. */
void creds_store_gets_with(const char* key);
/** A write and a read, both with this key; then the end. */
void creds_store_works(const char* key);

#endif
