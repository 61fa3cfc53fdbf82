/* Shared by the tests of credentials: a loop, a scripted service on loopback, a chain that uses
 * them, with short pauses and a clock that the test sets, and files in a temporary folder. The
 * chain reads the test process's environment; rig_init clears the variables that chains know.
 */
#ifndef S3L_TEST_CREDS_RIG_H
#define S3L_TEST_CREDS_RIG_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "credentials/aws.h"
#include "lib/s3_rig.h"

#define S3L_CREDS_RIG_NOW 1730023200000 /* 2024-10-27T10:00:00Z */
#define S3L_CREDS_RIG_END "2024-10-27T11:00:00Z"

/* Keys as the metadata services give them, and as STS does. */
#define S3L_CREDS_RIG_JSON_OF(key)                                                                 \
  "{\"Code\":\"Success\",\"AccessKeyId\":\"" key                                                   \
  "\",\"SecretAccessKey\":\"SK\",\"Token\":\"T\",\"Expiration\":\"" S3L_CREDS_RIG_END "\"}"
#define S3L_CREDS_RIG_XML_OF(key)                                                                  \
  "<R><Credentials><AccessKeyId>" key "</AccessKeyId><SecretAccessKey>SK</SecretAccessKey>"        \
  "<SessionToken>T</SessionToken><Expiration>" S3L_CREDS_RIG_END "</Expiration></Credentials></R>"

/* What IMDS and containers answer, and what comes of it. */
#define S3L_CREDS_RIG_JSON                                                                         \
  "{\"Code\":\"Success\",\"LastUpdated\":\"2024-10-27T09:00:00Z\",\"Type\":\"AWS-HMAC\","          \
  "\"AccessKeyId\":\"AK\",\"SecretAccessKey\":\"SK/"                                               \
  "+=\",\"Token\":\"TOK==\",\"Expiration\":\"" S3L_CREDS_RIG_END "\"}"

/* Scripts, and their number, as two arguments. */
#define S3L_CREDS_RIG_SCRIPTS(...) S3_RIG_SCRIPTS(__VA_ARGS__)
#define S3L_CREDS_RIG_SCRIPT(...)  S3L_SCRIPTS(S3L_SCRIPT(__VA_ARGS__)), 1

/* A reply with that status line and body, in memory that is reused after 16 of them. */
const char* s3l_creds_rig_reply(const char* status, const char* headers, const char* body);

#define S3L_OK(body)             s3l_creds_rig_reply("200 OK", "", body)
#define S3L_ANSWER(status, body) s3l_creds_rig_reply(status, "", body)

typedef struct s3l_creds_rig_s {
  uv_loop_t loop;
  s3l_script_server_t server;
  char base[64]; /* http://127.0.0.1:PORT */
  char dir[64];
  const s3l_chain_kind_t* kind; /* whose chain; AWS's unless the test sets another after init */
  s3l_settings_t settings;      /* the chain's own after open */
  s3lect_credentials_provider_t* chain;
  s3lect_credentials_req_t req;
  bool asked;                                /* a question is under way */
  void (*then)(struct s3l_creds_rig_s* rig); /* called in done, at its end */
  bool cut_short; /* set by a test that closes early: scripts need not be played to their end */
  /* How the last question ended. */
  unsigned done;
  unsigned dropped; /* questions that ended with UV_ECANCELED, which do not count as done */
  int status;
  char access_key[160];
  char secret[300];
  char token[9000];
  int64_t expires_ms;
  char why[1100];
  unsigned closed;
} s3l_creds_rig_t;

extern int64_t s3l_creds_rig_wall; /* what the chain takes for the time */

void s3l_creds_rig_clear_environment(void);

/** No scripts: no server. */
void s3l_creds_rig_init(s3l_creds_rig_t* rig, const s3l_step_t* const* scripts, size_t n);

/** Writes a file into the folder; gives its path, valid until the next call. */
const char* s3l_creds_rig_file(s3l_creds_rig_t* rig, const char* name, const char* text);

/** The file whose path the variable has. */
void s3l_creds_rig_set_file(s3l_creds_rig_t* rig, const char* variable, const char* name,
                            const char* text);

/** Reads options and environment; between the two the settings may be changed. */
void s3l_creds_rig_configure(s3l_creds_rig_t* rig, const char* profile, uint32_t sources);
void s3l_creds_rig_open(s3l_creds_rig_t* rig);

/** Both. */
void s3l_creds_rig_start(s3l_creds_rig_t* rig, const char* profile, uint32_t sources);

void s3l_creds_rig_ask(s3l_creds_rig_t* rig);
int s3l_creds_rig_try(s3l_creds_rig_t* rig); /* the same, where it may fail */
void s3l_creds_rig_wait(s3l_creds_rig_t* rig);

/** ask and wait, and what must come of it: keys (status 0), or a message. "..." at the beginning or
 * the end of `why` stands for any text. */
void s3l_creds_rig_gets(s3l_creds_rig_t* rig, const char* access_key);
void s3l_creds_rig_fails(s3l_creds_rig_t* rig, const char* why);

/** The same, and the end. */
void s3l_creds_rig_got(s3l_creds_rig_t* rig, const char* access_key);
void s3l_creds_rig_failed(s3l_creds_rig_t* rig, const char* why);

/** After the first answer, on the heap that looks for secrets (lib/secret_heap.h), and asserts that
 * it finds none: asks again, which must bring the same, and once more; ends the rig before the
 * answer to that, and the heap. */
void s3l_creds_rig_leaves_nothing(s3l_creds_rig_t* rig);
/** Asks, which must fail with a message that has none of these texts (up to NULL); and the end. */
void s3l_creds_rig_hides(s3l_creds_rig_t* rig, const char* const* secrets);

/** Closes and frees all, and asserts that a question under way ends with UV_ECANCELED, and that the
 * scripts were played to their end. `chain` may be NULL: the test has closed it. */
void s3l_creds_rig_end(s3l_creds_rig_t* rig);

/* ---- A store that uses credentials ---- */

typedef struct s3l_creds_use_s {
  s3lect_store_t store;
  s3l_store_suite_t suite;
  s3l_suite_req_t r;
  unsigned closed;
} s3l_creds_use_t;

/** Options with a provider instead of keys, valid until the next call. */
s3lect_store_s3_options_t s3l_creds_use_options(uint16_t port,
                                                s3lect_credentials_provider_t* provider);

/** Opens a store with them, and begins to read the object "k". */
void s3l_creds_use_open(s3l_creds_use_t* use, uv_loop_t* loop, const s3lect_store_s3_options_t* o);
void s3l_creds_use_start(s3l_creds_use_t* use);

/** Waits for the end of the read. */
void s3l_creds_use_ends(s3l_creds_use_t* use, int status, const char* message);

void s3l_creds_use_close(s3l_creds_use_t* use);

#endif
