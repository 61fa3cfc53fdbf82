/* s3lect/store.h: the interface to the object store.
 *
 * Vocabulary
 *   store      an object store as one handle on one loop; serves any number of electors
 *   request    one operation on one key; embedded in its owner, so a store allocates none
 *   condition  what must hold for a write to be carried out (RFC 9110 section 13.1)
 *   outcome    what is known of a request's effect when it ends
 *
 * A user-written store fills s3lect_store_ops_t. For the safety of an election it must guarantee
 * that conditional writes on one key are atomic (linearizable), that each write gives the object an
 * ETag which it never had before, that reads show the newest write, and that a request which ends
 * with S3LECT_NOT_APPLIED has no effect, now or later. */
#ifndef S3LECT_STORE_H
#define S3LECT_STORE_H

#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "s3lect/credentials.h"
#include "s3lect/errno.h"
#include "s3lect/export.h"
#include "s3lect/types.h"

#ifdef __cplusplus
extern "C" {
#endif

#define S3LECT_STORE_VERSION 1

typedef struct s3lect_store_s s3lect_store_t;
typedef struct s3lect_store_req_s s3lect_store_req_t;
typedef struct s3lect_store_ops_s s3lect_store_ops_t;

/** Ends a request. Runs exactly once, from the loop, never inside the call that started or
 * cancelled the request. `result` and everything it points to are valid during the call only. The
 * callback may start the request again, or free its memory. */
typedef void (*s3lect_store_cb)(s3lect_store_req_t* req, const s3lect_store_result_t* result);
/** The store is closed: its memory is the caller's again. */
typedef void (*s3lect_store_close_cb)(s3lect_store_t* store);

/** For a put with S3LECT_IF_MATCH: the store has just refused this ETag, although a read shows it.
 * The store may send it in the other dialect (quoted or bare; Ceph before 19.2.7 and DigitalOcean
 * accept only bare ETags). */
#define S3LECT_REQ_ETAG_DISPUTED 0x1u

/** Suppresses one-time notices (`notice` of the result). They stay pending for the next request
 * without this flag. */
#define S3LECT_REQ_NO_NOTICES 0x2u

/** For several puts that are started together to race: a store may send each request up to its last
 * byte first, and then all the last bytes at once. */
#define S3LECT_REQ_TOGETHER 0x4u

/** For a list: all versions of the objects, not only the newest; the newest of each key comes
 * first. Versions that only say that the object was deleted are left out. `etag` is a version of
 * `after`, whose older versions are listed too, or NULL. For a get: `etag` is the version to read.
 * Needs a store with S3LECT_STORE_VERSIONS. */
#define S3LECT_REQ_VERSIONS 0x8u

/** What a request does, so that a store may implement all operations as one function. */
typedef enum {
  S3LECT_OP_GET = 0,
  S3LECT_OP_PUT = 1,
  S3LECT_OP_DEL = 2,
  S3LECT_OP_LIST = 3,
} s3lect_store_op_t;

/** One operation. The caller zeroes it, fills the second group and calls s3lect_store_get, _put,
 * _del or _list; what it points to must stay until the callback. */
struct s3lect_store_req_s {
  void* data; /* the caller's; never touched */

  const char* key;    /* object key, or for a list its prefix; UTF-8, not percent-encoded */
  const char* etag;   /* for S3LECT_IF_MATCH and S3LECT_IF_CHANGED: as a result gave it; a version's
                         ID with S3LECT_REQ_VERSIONS */
  const void* body;   /* put */
  size_t body_len;    /* put */
  const char* after;  /* list: only keys greater than this one, or NULL */
  uint32_t max_keys;  /* list: at most so many, 1..1000 */
  uint32_t condition; /* s3lect_condition_t */
  uint32_t flags;     /* S3LECT_REQ_* */
  uint32_t timeout_ms; /* bound on the whole request, > 0; then UV_ETIMEDOUT */
  uint32_t body_max;   /* get: a larger body ends in S3LECT_ETOOBIG, with the ETag; 0: 64 KiB */
  uint32_t op;         /* s3lect_store_op_t; read-only, set when the request starts */
  int64_t due_ns; /* lease time: of requests that wait, the one with the earliest goes first; 0:
                     the time at which timeout_ms ends. An elector sets it for what keeps its
                     leadership: a third of the leader timeout before validity ends. While others
                     wait, such a request may end in S3LECT_ECROWDED after half a second: unsent,
                     and to be submitted again */
  s3lect_store_cb cb;

  s3lect_store_t* store; /* read-only; set when the request starts */
  uint64_t internal[32]; /* the store's scratch space while the request is under way */
};

/** The store's store_time_ms and modified_ms come from one clock, which is not the clock of the
 * machine that asks. Stores without this flag refuse S3LECT_EXPIRY_STORE_CLOCK. */
#define S3LECT_STORE_OWN_CLOCK 0x1u

/** The store can list and read older versions of objects (the bucket may keep none). */
#define S3LECT_STORE_VERSIONS 0x2u

/** The objects are in this process's memory, so that no other process takes part in an election on
 * them. Only such stores can be used in fast time (s3lect/testing.h). */
#define S3LECT_STORE_IN_PROCESS 0x4u

/** The store takes one write a second to each object (Google Cloud Storage). An elector refuses a
 * shorter renewal interval there, and gives a release more time. */
#define S3LECT_STORE_SLOW_WRITES 0x8u

/** What a user-written store implements. Everyone else calls the functions below, which check the
 * request first. Each of the first four returns 0 and later calls req->cb once, or returns an error
 * and never calls it. None may call req->cb from inside itself.
 *   cancel  ends a request soon: UV_ECANCELED, and S3LECT_UNCERTAIN unless it provably never left
 *   close   cancels what is left, releases everything, then calls cb (which may be NULL) */
struct s3lect_store_ops_s {
  uint32_t version; /* S3LECT_STORE_VERSION */
  uint32_t flags;   /* S3LECT_STORE_* */
  int (*get)(s3lect_store_t* store, s3lect_store_req_t* req);
  int (*put)(s3lect_store_t* store, s3lect_store_req_t* req);
  int (*del)(s3lect_store_t* store, s3lect_store_req_t* req);  /* may be NULL */
  int (*list)(s3lect_store_t* store, s3lect_store_req_t* req); /* may be NULL */
  void (*cancel)(s3lect_store_t* store, s3lect_store_req_t* req);
  void (*close)(s3lect_store_t* store, s3lect_store_close_cb cb);
};

/** A store handle. A fixed-size shell: the caller allocates it, must not move or copy it, and may
 * reuse its memory only in or after the close callback. Lives on one loop, used from its thread. */
struct s3lect_store_s {
  void* data;                    /* the caller's */
  uv_loop_t* loop;               /* read-only */
  const s3lect_store_ops_t* ops; /* set by the store's init function */
  void* internal;                /* the store's */
  void* reserved[8];
};

/** Starts a request: reads an object, writes one, deletes one, or lists keys. Fill `req` before
 * (see s3lect_store_req_t). Returns 0, and req->cb runs once, later; or an error, and it never
 * runs: UV_EINVAL (a field of `req` does not fit the operation), UV_ENOSYS (the store cannot
 * delete, or list, or has no versions), UV_ECANCELED (the store is closing), UV_ENOMEM, and what a
 * user-written store returns. */
S3LECT_EXTERN int s3lect_store_get(s3lect_store_t* store, s3lect_store_req_t* req);
S3LECT_EXTERN int s3lect_store_put(s3lect_store_t* store, s3lect_store_req_t* req);
S3LECT_EXTERN int s3lect_store_del(s3lect_store_t* store, s3lect_store_req_t* req);
S3LECT_EXTERN int s3lect_store_list(s3lect_store_t* store, s3lect_store_req_t* req);

/** Cancels a request that has been started. Its callback runs soon, with UV_ECANCELED unless the
 * request has ended meanwhile; the outcome is S3LECT_UNCERTAIN unless it provably was never sent.
 */
S3LECT_EXTERN void s3lect_store_cancel(s3lect_store_t* store, s3lect_store_req_t* req);

/** Closes a store. Requests under way end with UV_ECANCELED first. No elector may be using the
 * store any more: close it in the last elector's close callback. Close may be called once; `cb`
 * (may be NULL) runs exactly once, from the loop, as the handle's last callback, and the handle's
 * memory is the caller's again. */
S3LECT_EXTERN void s3lect_store_close(s3lect_store_t* store, s3lect_store_close_cb cb);

/** Options of the S3 store. Zero or NULL means the default. Strings are copied. */
typedef struct s3lect_store_s3_options_s {
  size_t size;          /* sizeof(s3lect_store_s3_options_t); set by s3lect_store_s3_options_init */
  const char* bucket;   /* required */
  const char* endpoint; /* http[s]://host[:port]; NULL: AWS_ENDPOINT_URL_S3,
                           AWS_ENDPOINT_URL, the profile's endpoint_url (of s3 in its
                           services, or its own; none of these where
                           AWS_IGNORE_CONFIGURED_ENDPOINT_URLS is true), else AWS in
                           `region` */
  const char* region;   /* NULL: AWS_REGION, AWS_DEFAULT_REGION, the profile's, else
                           us-east-1; a wrong one costs one request, see below */
  const char* access_key_id;      /* NULL: `credentials`, `profile`, AWS_ACCESS_KEY_ID, else the
                                     chain of s3lect/credentials.h */
  const char* secret_access_key;  /* NULL: AWS_SECRET_ACCESS_KEY when the key came from there */
  const char* session_token;      /* NULL: AWS_SESSION_TOKEN when the key came from there */
  const char* ca_file;            /* PEM; NULL: AWS_CA_BUNDLE, else the system's authorities */
  int32_t addressing;             /* s3lect_addressing_t */
  uint32_t connect_timeout_ms;    /* TCP and DNS; default 1000 */
  uint32_t tls_timeout_ms;        /* TLS handshake; default 2000 */
  uint32_t first_byte_timeout_ms; /* request sent to first byte of reply; 0: the request's own */
  uint32_t idle_timeout_ms;       /* an unused connection is closed after this; default 60000 */
  uint32_t max_connections; /* default 64, at most 1024; up to 8 are opened as soon as requests
                               wait, further ones if requests wait for longer than a reply
                               takes. Requests that still wait go in the order of due_ns, and
                               end unsent when there is no time left for a reply; those of
                               S3LECT_REQ_TOGETHER do not wait */
  /* Instead of keys; must be on the store's loop, and be closed after the store. */
  s3lect_credentials_provider_t* credentials;
  const char* profile; /* of ~/.aws/config and ~/.aws/credentials, in place of any other source */

  /* What buckets may demand. All of it is signed. */
  const char* const* headers;         /* further headers on every put, "Name: value" each: storage
                                         class, tags, metadata, "X-Tigris-Consistent: true"; not
                                         those that s3lect sets itself, conditions, or any that
                                         would make the put something else. NULL: none */
  size_t headers_len;                 /* at most 12 with those of the next two, 3072 bytes in all */
  const char* server_side_encryption; /* "AES256" (S3's own keys), "aws:kms" or "aws:kms:dsse": on
                                         every put. NULL: as the bucket's default has it. With KMS
                                         the ETag is no digest of the body; what the election needs
                                         is that each write gives a new one, which it does where
                                         bodies differ, as the lockfile's always do, and which
                                         s3lect_verify_start tries. SSE-C is not supported */
  const char* sse_kms_key_id;         /* the key's ID or ARN, with one of the two KMS kinds; NULL:
                                         the bucket's, else the account's aws/s3 */
  const char* expected_bucket_owner;  /* 12 digits, of the account that must own the bucket: on
                                         every request, which S3 else refuses with 403. NULL: none */
  int32_t checksum;                   /* 1: x-amz-checksum-sha256 on every put, which buckets with
                                         Object Lock demand and some stores other than AWS refuse */

  /* The way there. */
  int32_t use_dualstack; /* AWS's hosts with IPv6 addresses too: 1 yes, -1 no; 0:
                            AWS_USE_DUALSTACK_ENDPOINT, the profile's use_dualstack_endpoint, else
                            no */
  const char* proxy; /* http://[user:password@]host[:port], for S3 and STS, whatever NO_PROXY says;
                        "" none; NULL: HTTPS_PROXY (https_proxy) for https endpoints and http_proxy
                        for plain ones, unless NO_PROXY (no_proxy) has the host. TLS goes through a
                        tunnel (CONNECT): the proxy sees no more than the host's name */
} s3lect_store_s3_options_t;

typedef enum {
  S3LECT_ADDRESSING_AUTO = 0,         /* virtual host on AWS, path with a custom endpoint */
  S3LECT_ADDRESSING_PATH = 1,         /* https://host/bucket/key */
  S3LECT_ADDRESSING_VIRTUAL_HOST = 2, /* https://bucket.host/key */
} s3lect_addressing_t;

/** Sets every option to its default. `size` is sizeof(s3lect_store_s3_options_t). */
S3LECT_EXTERN void s3lect_store_s3_options_init(s3lect_store_s3_options_t* options, size_t size);

/** Checks options without opening anything. Returns what s3lect_store_s3_init would. */
S3LECT_EXTERN int s3lect_store_s3_options_check(const s3lect_store_s3_options_t* options,
                                                s3lect_error_t* error);

/** Opens a store that speaks the S3 REST protocol over HTTP/1.1 with SigV4. It connects when the
 * first request needs a connection. The environment is read in this call only. If options and
 * environment name no region or no endpoint, this call also reads the profile (`profile`,
 * AWS_PROFILE, AWS_DEFAULT_PROFILE, else "default") in ~/.aws/config and ~/.aws/credentials, which
 * blocks for the time of reading two local files of up to 1 MiB. The CA file is read in this call,
 * too.
 *
 * A bucket name BASE--ZONE--x-s3 is a directory bucket of S3 Express One Zone. The store creates
 * sessions there with its credentials, and replaces them ahead of their end. Such a store has
 * neither listings nor versions, so it holds lockfiles, not epoch files. Its region is not learned.
 *
 * The store corrects two settings by itself, at the cost of one refused request each, and reports
 * it once as a notice (see s3lect_store_result_t): the bucket's region, if it is in the same
 * partition of AWS or at a custom endpoint; and this machine's clock, if the store refuses its
 * time. The refused request had no effect. It is sent again at most once for each reason, within
 * its time-out.
 *
 * If no keys are given, the first request looks for credentials. A request waits for them within
 * its time-out, and ends with S3LECT_ECREDENTIALS and a message about the attempts if there are
 * none. Errors, with nothing to clean up: S3LECT_EOPTION, S3LECT_ECREDENTIALS (half a pair of
 * keys), S3LECT_ETLS (the CA file), UV_EINVAL (a struct size this library does not know),
 * UV_ENOTSUP (an option is set that only a newer library knows), UV_ENOMEM. After success the store
 * must be closed. */
S3LECT_EXTERN int s3lect_store_s3_init(uv_loop_t* loop, s3lect_store_t* store,
                                       const s3lect_store_s3_options_t* options,
                                       s3lect_error_t* error);

/** Opens a store in this process's memory, for tests (s3lect/testing.h has more for them) and for
 * electors of one process. Closing the store deletes its objects. Errors: UV_ENOMEM. */
S3LECT_EXTERN int s3lect_store_memory_init(uv_loop_t* loop, s3lect_store_t* store,
                                           s3lect_error_t* error);

/** Checks a directory without opening the store. Returns what s3lect_store_file_init would. */
S3LECT_EXTERN int s3lect_store_file_check(const char* directory, s3lect_error_t* error);

/** Opens a store in an existing directory, for the processes of one machine. An object is a file
 * with its key's name, which begins with one line of the store's own. A write reaches the disk
 * before it is confirmed, and happens completely or not at all, even in a crash. The work is done
 * on libuv's thread pool and never blocks the loop; close waits for work that is under way. Every
 * user who may write to the directory can cause two leaders. So a directory that every user may
 * write to is refused (UV_EPERM), unless it has the sticky bit and belongs to root or to this user;
 * in such a directory, files of other users are refused (docs/operations.md, "A directory as the
 * store"). Errors, with nothing to clean up: S3LECT_EOPTION (no name), UV_ENOENT, UV_ENOTDIR,
 * UV_EACCES and what else opening a directory gives, UV_EPERM, UV_ENOMEM. */
S3LECT_EXTERN int s3lect_store_file_init(uv_loop_t* loop, s3lect_store_t* store,
                                         const char* directory, s3lect_error_t* error);

#ifdef __cplusplus
}
#endif

#endif
