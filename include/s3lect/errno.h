/* s3lect/errno.h: error codes.
 *
 * Every function returns 0 or a negative code: one of libuv's UV_E* codes, passed through, or one
 * of these. The range -5000..-5099 lies outside libuv's (errno values, -3000.., -4023..-4096). */
#ifndef S3LECT_ERRNO_H
#define S3LECT_ERRNO_H

#include "s3lect/export.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One row per code: name, value, kind, sentence for the operator. The enum, the strings, the docs
 * page, and what is retried are made from this table. Kinds:
 *   ANSWER     not a failure: what was asked for is known
 *   TRANSIENT  the same request may succeed a little later
 *   LASTING    another attempt a second later would fail in the same way */
#define S3LECT_ERRNO_MAP(XX)                                                                       \
  XX(ETIMING, -5000, LASTING,                                                                      \
     "unsafe timing: intervals and timeouts do not fit into the leader timeout")                   \
  XX(ENOTFOUND, -5001, ANSWER, "the object does not exist")                                        \
  XX(ENOTMODIFIED, -5002, ANSWER, "the object still has the given ETag")                           \
  XX(EPRECONDITION, -5003, ANSWER,                                                                 \
     "the store refused a conditional write: the object has changed")                              \
  XX(ECONFLICT, -5004, TRANSIENT, "another write to the same object was in progress")              \
  XX(EDENIED, -5005, LASTING,                                                                      \
     "access denied: check s3:GetObject and s3:PutObject on the key, s3:ListBucket on the bucket") \
  XX(ENOBUCKET, -5006, LASTING, "the bucket does not exist: check its name, region and endpoint")  \
  XX(ETHROTTLED, -5007, TRANSIENT, "the store asks to slow down (429, 503)")                       \
  XX(ESERVER, -5008, TRANSIENT, "the store, or a proxy before it, failed")                         \
  XX(EUNSUPPORTED, -5009, LASTING,                                                                 \
     "the store does not implement a condition of the request: it cannot hold an election")        \
  XX(EREGION, -5010, LASTING,                                                                      \
     "the bucket is in another region: set the region that the store names")                       \
  XX(ESKEW, -5011, LASTING,                                                                        \
     "the store refused the request's time: this machine's wall clock is wrong")                   \
  XX(ESIGNATURE, -5012, LASTING,                                                                   \
     "the store refused the signature: check the access key and its secret")                       \
  XX(ECREDENTIALS, -5013, LASTING,                                                                 \
     "no credentials: set the access key in options or environment, or use a profile or a role")   \
  XX(EREFUSED, -5014, TRANSIENT, "the store refused the request (4xx)")                            \
  XX(EREDIRECT, -5015, LASTING,                                                                    \
     "the store redirects: use the endpoint of the bucket's own region")                           \
  XX(EBADREPLY, -5016, TRANSIENT, "the reply is not valid HTTP, or ends too early")                \
  XX(ETOOBIG, -5017, TRANSIENT, "the reply is larger than its limit")                              \
  XX(EETAG, -5018, TRANSIENT, "the store's reply has no usable ETag")                              \
  XX(EEPOCH, -5019, LASTING,                                                                       \
     "the election has reached the highest epoch: delete its objects, then restart the electors")  \
  XX(EDUPID, -5020, LASTING,                                                                       \
     "another live process takes part in this election with the same server ID")                   \
  XX(ERECORD, -5021, LASTING, "the lockfile does not hold a valid record")                         \
  XX(ELATE, -5022, LASTING,                                                                        \
     "a renewal was confirmed only after the leadership's validity had ended")                     \
  XX(ETLS, -5023, TRANSIENT, "TLS failed")                                                         \
  XX(ETLSCA, -5024, LASTING, "TLS: the server's certificate is not signed by a trusted authority") \
  XX(ETLSNAME, -5025, LASTING, "TLS: the server's certificate is for another host name")           \
  XX(ETLSEXPIRED, -5026, LASTING, "TLS: the server's certificate has expired or is not yet valid") \
  XX(EDISPUTED, -5027, TRANSIENT,                                                                  \
     "the store refuses an ETag that it has just returned: it cannot compare and swap")            \
  XX(ERETRIES, -5028, LASTING, "an operation failed on every attempt of its retry schedule")       \
  XX(EOPTION, -5029, LASTING, "an option has an invalid value")                                    \
  XX(EUNSAFE, -5030, LASTING,                                                                      \
     "the store cannot hold an election: a test showed that it does not honour conditions")        \
  XX(EPROXY, -5031, TRANSIENT, "the HTTP proxy refused the connection")                            \
  XX(EPEER, -5032, TRANSIENT,                                                                      \
     "the answer from the leader's peer address cannot be true and was ignored")                   \
  XX(ELISTING, -5033, TRANSIENT, "the store's listing shows keys that were not asked for")         \
  XX(ERELEASE, -5034, LASTING,                                                                     \
     "the release was not confirmed: others may have to wait for a whole leader timeout")          \
  XX(EPEERBACK, -5035, ANSWER, "not a failure: the leader answers at its peer address again")      \
  XX(EPROTOCOL, -5036, LASTING,                                                                    \
     "electors with another protocol option use the same key: both protocols can have a leader")   \
  XX(ECROWDED, -5037, TRANSIENT,                                                                   \
     "requests wait too long for a connection: raise max_connections, unless the store is silent") \
  XX(EFENCED, -5038, ANSWER, "a leader with a greater epoch has written the object")               \
  XX(EBADFENCE, -5039, LASTING,                                                                    \
     "the object is a lockfile, or begins with a fence that this version cannot read")

typedef enum {
#define XX(name, value, kind, text) S3LECT_##name = value,
  S3LECT_ERRNO_MAP(XX)
#undef XX
      S3LECT_ERRNO_END = -5099
} s3lect_errno_t;

/** Why a function that takes options failed. Such a function takes a pointer to this struct, or
 * NULL, as its last argument, and fills the struct; after a success it is all zero. */
typedef struct s3lect_error_s {
  int code;         /* what the function returned */
  char option[100]; /* the member of the options, environment variable or property of a profile that
                       is wrong; "" if it is none of these */
  char text[600];   /* one line: the option, its value, what is wrong, what to do. It begins with
                       `option`, so text + strlen(option) is the rest */
} s3lect_error_t;

/** Describes a code of ours or of libuv's in one sentence. Never NULL; static storage. Any thread.
 */
S3LECT_EXTERN const char* s3lect_strerror(int err);

/** The code's name, "S3LECT_EDUPID" or "UV_ECONNREFUSED" style without the prefix: "EDUPID",
 * "ECONNREFUSED". Never NULL. Any thread. */
S3LECT_EXTERN const char* s3lect_err_name(int err);

#ifdef __cplusplus
}
#endif

#endif
