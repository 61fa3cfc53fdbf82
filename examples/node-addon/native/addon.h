/* The addon's own words.
 *
 *   environment  what Node calls the main thread, and each worker: one loop, one JavaScript
 *                heap, one addon_t
 *   object       a native handle of s3lect (a store, an elector) in a JavaScript object of its own
 *   open         from the constructor until the close callback
 *   held         by a strong reference, so that the garbage collector lets it be. A peer server
 *                is from its constructor, as any server while it listens, and an elector from its
 *                start, until it is closed; anything is while it closes. An object that nobody
 *                refers to, and that is not held, is closed by its finalizer
 *
 * The memory of an object is freed when it is closed *and* finalized. JavaScript is called from the
 * loop only (object_call), in the async context of the constructor's caller; what its listeners
 * throw becomes an uncaught exception, as in any event of Node's own. While an environment ends (a
 * worker is terminated, the process comes to its end) no JavaScript runs any more: what is open is
 * closed, which writes the releases, and the environment waits for that. */
#ifndef ADDON_H
#define ADDON_H

#ifndef NAPI_VERSION
#  define NAPI_VERSION 8
#endif
#include <node_api.h>
#include <s3lect.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct addon_s addon_t;
typedef struct object_s object_t;
typedef struct class_s class_t;
typedef struct field_s field_t;
typedef struct texts_s texts_t;
typedef struct request_s request_t;

struct addon_s {
  napi_env env;
  uv_loop_t* loop;
  object_t* objects; /* the open ones */
  bool ending;
  uv_async_t alive; /* keeps the loop going while the environment ends */
  napi_async_cleanup_hook_handle hook;
};

struct object_s {
  const class_t* class;
  addon_t* addon;
  object_t *next, **link;
  size_t users;
  napi_ref self;
  napi_async_context context;
  bool unwanted, closing, held, closed, finalized;
};

struct class_s {
  const char* name;
  const char* mismatch; /* "not a store" */
  const char* closed;   /* "the store is closed" */
  napi_type_tag tag;
  size_t size; /* of its objects, each of which begins with its object_t */
  bool held;   /* from the constructor on */
  const field_t*
      fields; /* what its options have; the class's property "options" lists their names */
  size_t fields_n;
  /* Opens the object's handle by the constructor's arguments, of which CONSTRUCTOR_ARGC are there.
   * `texts` lasts as long as the call. Gives 0; or an error code, with its text in `error`; or 1
   * with an exception pending. Unless 0 nothing is open, and the object is freed. */
  int (*open)(object_t* object, const napi_value* argv, texts_t* texts, s3lect_error_t* error);
  void (*close)(object_t* object); /* begins it; object_closed ends it */
};

#define CONSTRUCTOR_ARGC 3

/* ---- memory.c: what the library and the addon take from the heap, counted ---- */

/** Has s3lect count too; once per process, before anything else. */
void memory_count(void);
/** Blocks that are allocated and not yet freed, in all threads. */
int64_t memory_blocks(void);
void* memory_zeroed(size_t size);
void memory_free(void* ptr);
/** Overwrites a secret; the compiler may not leave it out. */
void memory_wipe(void* ptr, size_t size);

/* ---- object.c ---- */

/** Adds a class to the exports, with these methods, close() and the static property "options". */
bool class_define(napi_env env, napi_value exports, const class_t* class,
                  const napi_property_descriptor* methods, size_t n);
/** The object in `value`, or NULL with a TypeError pending. */
void* object_unwrap(napi_env env, napi_value value, const class_t* class);
/** The one in `this`, with up to *argc arguments, those that are missing undefined. */
void* object_this(napi_env env, napi_callback_info info, const class_t* class, size_t argc,
                  napi_value* argv);
/** What these two gave; NULL with an exception pending if it is to be closed, or was. */
void* object_wanted(void* object);
void object_hold(object_t* object);
void object_use(object_t* object);
void object_unuse(object_t* object);
/** Closes it, as soon as it has no users. Legal any number of times. */
void object_close(object_t* object);
/** Enters JavaScript from the loop; if false, it cannot be. Then values may be made, and: */
bool object_enter(object_t* object, napi_handle_scope* scope);
/** calls the method of that name. Leaves what object_enter has entered. */
void object_call(object_t* object, napi_handle_scope scope, const char* method, size_t argc,
                 const napi_value* argv);
/** The object is closed: calls onClosed(). It may be gone when this returns. */
void object_closed(object_t* object);

/* ---- values.c: between JavaScript's values and C's ---- */

typedef enum {
  FIELD_TEXT,
  FIELD_UINT32,
  FIELD_INT32,  /* 0 or more */
  FIELD_BOOL,   /* an int32_t of 1 or 0 */
  FIELD_YES_NO, /* an int32_t of 1 or -1, where 0 is neither */
} field_kind_t;

/** A property of an options object, and the member of a struct that it fills. */
struct field_s {
  const char* name;
  field_kind_t kind;
  size_t offset;
};

#define TEXTS_MAX 40

/** Copies of strings, which may be secrets: wiped when they are freed. */
struct texts_s {
  char* text[TEXTS_MAX];
  size_t size[TEXTS_MAX];
  size_t n;
};

void texts_free(texts_t* texts);
/** A copy of a string of at most 64 KiB without NULs; NULL with an exception pending. `name` is for
 * its text. */
const char* texts_add(texts_t* texts, napi_env env, napi_value value, const char* name);
/** Fills a struct from the properties that are neither undefined nor null. False: an exception is
 * pending. */
bool fields_read(napi_env env, napi_value from, const field_t* fields, size_t n, void* to,
                 texts_t* texts);

/** An array of their names; NULL: an error of Node-API. */
napi_value fields_names(napi_env env, const field_t* fields, size_t n);

/** "S3LECT_EOPTION", "S3LECT_ECONNREFUSED". */
void code_of(int err, char* code, size_t size);
/** An Error with `code` and `errno`; `message` NULL or "": what s3lect_strerror says. */
napi_value error_make(napi_env env, int err, const char* message);
/** Throws it. Returns NULL, of whatever type. */
void* error_throw(napi_env env, int err, const char* message);
/** Throws what the library says of options: an Error with `option`, the name of the wrong one. */
void* error_throw_option(napi_env env, const s3lect_error_t* error);
/** Throws what a call of Node's own has failed with, unless that is pending already. NULL. */
void* error_throw_last(napi_env env);
/** Whether a property is there, and neither undefined nor null. */
bool value_is_given(napi_env env, napi_value value);
/** NULL becomes undefined, and so does what cannot be made. */
napi_value value_text(napi_env env, const char* text);
napi_value value_bool(napi_env env, bool value);
napi_value value_number(napi_env env, double value);
napi_value value_bigint(napi_env env, uint64_t value);
napi_value value_undefined(napi_env env);
/** Sets a property of an object. */
void value_put(napi_env env, napi_value object, const char* name, napi_value value);

/* ---- store.c: requests on a store ---- */

/** A request that is under way, at the beginning of what its owner took with memory_zeroed. A store
 * that is to be closed cancels its requests first, and waits for their ends. */
struct request_s {
  object_t* store;
  request_t *next, **link;
  uint32_t id;
  void (*cancel)(request_t* request);
};

/** It has been started. */
void request_begin(request_t* request, object_t* store, void (*cancel)(request_t* request));
/** It has ended: frees it. */
void request_end(request_t* request);

/* ---- inspect.c ---- */

/** list(id, options), which calls onListed(id, error, elections). */
napi_value list_begin(napi_env env, object_t* store, s3lect_store_t* handle,
                      const napi_value* argv);
/** audit(id, options), which calls onAudited(id, error, judgement). */
napi_value audit_begin(napi_env env, object_t* store, s3lect_store_t* handle,
                       const napi_value* argv);
/** auditLogs(options, logs) gives the judgement of Buffers. */
napi_value audit_logs(napi_env env, napi_callback_info info);

/* ---- store.c, provider.c, peer.c, elector.c, plan.c ---- */

/** Credentials that a function of JavaScript's gives. It calls one method of `object`:
 *   onCredentials(question)   to be answered once with provider_answer or provider_refuse
 * NULL: there is no memory. Closed with s3lect_credentials_close, and freed then. */
s3lect_credentials_provider_t* provider_open(object_t* object, addon_t* addon);
/** answerCredentials(question, accessKeyId, secretAccessKey, sessionToken | undefined, expiresMs).
 * An answer to a question that nobody asks any more is let fall. */
napi_value provider_answer(napi_env env, s3lect_credentials_provider_t* provider,
                           const napi_value* argv);
/** refuseCredentials(question, why) */
napi_value provider_refuse(napi_env env, s3lect_credentials_provider_t* provider,
                           const napi_value* argv);

/** The handle in `value`, and its object to be used; NULL with an exception pending. */
s3lect_store_t* store_of(napi_env env, napi_value value, object_t** object);
s3lect_peer_client_t* peer_client_of(napi_env env, napi_value value, object_t** object);
s3lect_elector_t* elector_of(napi_env env, napi_value value);

/** Fills the options of an elector from the properties of an object; else an exception is pending.
 */
bool elector_fields_read(napi_env env, napi_value from, s3lect_elector_options_t* options,
                         texts_t* texts);

/** plan(elector, options) */
napi_value plan_make(napi_env env, napi_callback_info info);

bool store_define(napi_env env, napi_value exports);
bool peer_define(napi_env env, napi_value exports);
bool elector_define(napi_env env, napi_value exports);

#endif
