/* credentials/chain.h: what the chains of all clouds share. A chain is a provider that asks the
 * sources of one cloud's SDKs in their order.
 *
 * Vocabulary
 *   kind   a cloud's chain: its steps, settings and hooks (aws.h, azure.h, google.h)
 *   step   one source in the order of a kind
 *   search the course of one question through the steps
 *
 * A source that is not configured is skipped. One that is configured, but fails, ends the search:
 * to go on could end in another identity than the intended one. The message of a failure says what
 * was tried, and why it gave nothing.
 *
 * Lifecycle: one question at a time. Each step ends in one of four ways, in `try` or later: it
 * skips itself, fails, ends with credentials, or has the service end the question
 * (s3l_service_end). A cancelled question ends when the step does. */
#ifndef S3L_CREDS_CHAIN_H
#define S3L_CREDS_CHAIN_H

#include <stdbool.h>
#include <stddef.h>

#include "credentials/cache.h"
#include "credentials/service.h"
#include "credentials/settings.h"

#define S3L_CHAIN_WHY_MAX 1024
#define S3L_CHAIN_FILES   2

typedef struct s3l_chain_s s3l_chain_t;

typedef struct s3l_chain_step_s {
  const char* name; /* "environment: ", with which its messages begin */
  void (*try)(s3l_chain_t* chain);
} s3l_chain_step_t;

typedef struct s3l_chain_kind_s {
  const s3l_chain_step_t* steps;
  unsigned steps_len;
  size_t size; /* of the kind's own struct, which begins with an s3l_chain_t */
  /* Copies options and environment. Errors, with nothing to clean up: as s3l_chain_cache. */
  int (*configure)(s3l_settings_t* settings, const s3lect_credentials_chain_options_t* options,
                   s3lect_error_t* error);
  /* The rest may be NULL. */
  bool (*is_wanted)(const s3l_settings_t* settings, unsigned step); /* else it is left out */
  void (*begin)(s3l_chain_t* chain);                                /* of a question */
  /* What a step ended with, in place of s3l_chain_end, which it calls at last. */
  void (*ended)(s3l_chain_t* chain, int status, s3lect_credentials_t* credentials);
  void (*cancel)(s3l_chain_t* chain); /* what the kind itself has under way */
  void (*clear)(s3l_chain_t* chain);  /* wipes what the kind keeps during a question */
} s3l_chain_kind_t;

struct s3l_chain_s {
  s3l_buf_t why;    /* the question's message, to which each step adds; a longer one is cut */
  size_t why_len;   /* of `why`, up to the step's name */
  s3l_loop_t* loop; /* during a question */
  bool cancelled;
  unsigned step; /* private */
  s3l_service_t service;
  s3l_settings_t settings;
  s3l_file_t files[S3L_CHAIN_FILES]; /* of the kind; cancelled and freed with the question */

  /* Private. */
  s3lect_credentials_provider_t provider;
  const s3l_chain_kind_t* kind;
  s3l_task_t task;               /* begins each question, and frees the chain in the end */
  s3lect_credentials_req_t* req; /* the question under way, or NULL */
  char why_text[S3L_CHAIN_WHY_MAX];
  bool closing;
  s3lect_credentials_close_cb close_cb;
};

/** A bare chain. It frees its own memory after the close callback, which runs inside close if
 * nobody has asked. Takes over what the settings own, on failure too. Errors: UV_ENOMEM. */
int s3l_chain_provider(uv_loop_t* loop, const s3l_chain_kind_t* kind, s3l_settings_t* settings,
                       s3lect_credentials_provider_t** out);

/** A chain under a cache. Errors: S3LECT_EOPTION (also of variables), UV_EINVAL and UV_ENOTSUP (the
 * options' size), UV_ENOMEM. */
int s3l_chain_cache(uv_loop_t* loop, const s3l_chain_kind_t* kind,
                    const s3lect_credentials_chain_options_t* options, s3l_creds_cache_t** out,
                    s3lect_error_t* error);

/* ---- What steps call ---- */

/** The step is not configured: the next one is tried. Adds the reason to `why`. */
void s3l_chain_skip(s3l_chain_t* chain, const char* text);

/** The step is configured, but broken. */
void s3l_chain_fail(s3l_chain_t* chain, const char* text);

/** Ends the search. Of a failure, `why` says the reason. */
void s3l_chain_end(s3l_chain_t* chain, int status, s3lect_credentials_t* credentials);

#endif
