/* s3lect/list.h: which elections a store holds, and who leads them.
 *
 * Reads what electors have written, and takes part in no election. It needs no elector, and only
 * the right to list and to read.
 *
 * Vocabulary
 *   pass      one look at all elections: a listing of keys, then reads of the objects that have
 *             changed since the last pass of the same handle
 *   election  a lockfile, or the epoch files STEM + lock-0000000042.json with the same STEM. Every
 *             other object under the prefix is an election if it holds a record. Temporary objects
 *             of s3lect_verify_start are left out
 *   state     what the object says, and how old it is by the store's clock. A leader may have
 *             stopped meanwhile, and only an elector that observes knows when others may take
 *             over: use the state to look, never to decide who may write */
#ifndef S3LECT_LIST_H
#define S3LECT_LIST_H

#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "s3lect/errno.h"
#include "s3lect/export.h"
#include "s3lect/record.h"
#include "s3lect/store.h"

#ifdef __cplusplus
extern "C" {
#endif

#define S3LECT_LIST_MAX 10000 /* elections of one handle: with more, a pass ends in ETOOBIG */

typedef struct s3lect_list_s s3lect_list_t;

typedef enum {
  S3LECT_ELECTION_ABSENT = 0,   /* there is no object, or none any more */
  S3LECT_ELECTION_LED = 1,      /* it has been renewed in time */
  S3LECT_ELECTION_CLAIMED = 2,  /* a provisional claim (s3lect_record_t.claim): nobody leads yet */
  S3LECT_ELECTION_RELEASED = 3, /* the last leader has released it */
  S3LECT_ELECTION_EXPIRED = 4,  /* it was not renewed for the leader timeout and 2 s: the clocks of
                                   stores have a grain of one second */
  S3LECT_ELECTION_FOREIGN = 5,  /* the object holds no record: it is no election */
} s3lect_election_state_t;

/** One election, as the last pass saw it. Valid until the next pass starts or the list is freed. */
typedef struct s3lect_election_s {
  size_t size;     /* sizeof(s3lect_election_t) of the library */
  const char* key; /* of the lockfile, or STEM: an elector's lockfile_path */
  size_t number; /* counts the elections of a handle from 0, in the order in which they were found:
                    an election keeps its number in later passes */
  int32_t protocol;           /* s3lect_protocol_t */
  int32_t state;              /* s3lect_election_state_t. With ABSENT and FOREIGN, the fields below
                                 have no meaning */
  uint32_t leader_timeout_ms; /* the record's, else that of the options */
  int32_t by_store;           /* 1: age_ms is by the store's clock; 0: by this machine's wall clock,
                                 since the store gives no times */
  int64_t age_ms;             /* from the last write of the object until read_ns */
  int64_t read_ns;            /* lease time: when the object was read */
  s3lect_record_t record;     /* of the leader, or of the last one; foreign text */
} s3lect_election_t;

/** The end of a pass. Runs exactly once for each successful start, from the loop, never inside the
 * call that started or cancelled the pass. `status` is 0, or an error, with `message`: one line of
 * text, valid during the call; else "". After an error some elections may be newer than others.
 * Any call is legal inside, s3lect_list_start and s3lect_list_free included. */
typedef void (*s3lect_list_cb)(s3lect_list_t* list, int status, const char* message);

/** Options. Zero or NULL means the default. Strings are copied. */
typedef struct s3lect_list_options_s {
  size_t size;                 /* sizeof(s3lect_list_options_t); set by s3lect_list_options_init */
  s3lect_store_t* store;       /* required */
  const char* prefix;          /* what the keys begin with; NULL: all keys of the store */
  const char* lockfile_path;   /* instead of a prefix: this election only. A lockfile is then read
                                  without a listing */
  int32_t protocol;            /* of lockfile_path: s3lect_protocol_t */
  uint32_t leader_timeout_ms;  /* of records that do not tell theirs; default 15000 */
  uint32_t request_timeout_ms; /* of each request; default 5000 */
} s3lect_list_options_t;

/** A handle. A fixed-size shell: the caller allocates it, must not move or copy it. */
struct s3lect_list_s {
  void* data;      /* the caller's */
  uv_loop_t* loop; /* read-only */
  void* internal;
  void* reserved[4];
};

/** Sets every option to its default. `size` is sizeof(s3lect_list_options_t). */
S3LECT_EXTERN void s3lect_list_options_init(s3lect_list_options_t* options, size_t size);

/** Initialises a handle on the store's loop. It sends nothing. The store must stay open while a
 * pass is under way. Errors, with nothing to free: S3LECT_EOPTION (an option), UV_EINVAL (a struct
 * size this library does not know), UV_ENOTSUP (an option is set that only a newer library knows),
 * UV_ENOMEM. */
S3LECT_EXTERN int s3lect_list_init(s3lect_list_t* list, const s3lect_list_options_t* options,
                                   s3lect_error_t* error);

/** Starts a pass. The first reads all objects, eight at a time; later ones only those whose ETag
 * has changed. Errors, with no callback: UV_EBUSY (a pass is under way), UV_EINVAL (`cb` is NULL,
 * or the list is freed), UV_ENOSYS (the store cannot list), UV_ENOMEM, and what the store returns.
 * The pass may end with S3LECT_ETOOBIG (more than S3LECT_LIST_MAX elections, or over a million
 * objects), S3LECT_ELISTING (a listing that is out of order), S3LECT_ERECORD (`lockfile_path` names
 * an object without a record), and the errors of requests to the store. */
S3LECT_EXTERN int s3lect_list_start(s3lect_list_t* list, s3lect_list_cb cb);

/** Cancels a pass that is under way: its callback runs soon, with UV_ECANCELED unless it had failed
 * before. No-op otherwise. */
S3LECT_EXTERN void s3lect_list_cancel(s3lect_list_t* list);

/** Returns the election at place `i`, in the order of keys, from 0 to the last one; NULL behind it.
 * Between passes, and inside the callback. */
S3LECT_EXTERN const s3lect_election_t* s3lect_list_at(const s3lect_list_t* list, size_t i);

/** Frees what the passes have found. Cancels a pass that is under way: its callback still runs, and
 * `list` must stay until then. No-op if the list is freed already. */
S3LECT_EXTERN void s3lect_list_free(s3lect_list_t* list);

/** "absent", "led", "claiming", "released", "expired" or "foreign", of an s3lect_election_state_t.
 * Static. Any thread. */
S3LECT_EXTERN const char* s3lect_election_state_name(int state);

#ifdef __cplusplus
}
#endif

#endif
