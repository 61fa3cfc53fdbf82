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

/* One row per code: name, value, sentence for the operator. The enum, the strings and the docs
 * page are made from this table. */
#define S3LECT_ERRNO_MAP(XX)                                                                       \
  XX(ETIMING, -5000, "unsafe timing: intervals and timeouts do not fit into the leader timeout")   \
  XX(ENOTFOUND, -5001, "the object does not exist")                                                \
  XX(ENOTMODIFIED, -5002, "the object still has the ETag that was given")                          \
  XX(EPRECONDITION, -5003, "the store refused a conditional write: the object has changed")        \
  XX(ECONFLICT, -5004, "the store met another write to the same object at the same time")          \
  XX(EDENIED, -5005,                                                                               \
     "access denied: check s3:GetObject and s3:PutObject on the key, s3:ListBucket on the bucket") \
  XX(ENOBUCKET, -5006, "the bucket does not exist: check its name, region and endpoint")           \
  XX(ETHROTTLED, -5007, "the store asks to slow down (429, 503)")                                  \
  XX(ESERVER, -5008, "the store, or something before it, failed")                                  \
  XX(EUNSUPPORTED, -5009,                                                                          \
     "the store does not implement a condition that was asked for: it cannot hold an election")    \
  XX(EREGION, -5010, "the bucket is in another region: set the region that the store names")       \
  XX(ESKEW, -5011, "the store refused the request's time: this machine's wall clock is wrong")     \
  XX(ESIGNATURE, -5012, "the store refused the signature: check the access key and its secret")    \
  XX(ECREDENTIALS, -5013,                                                                          \
     "no credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or use a profile or a "     \
     "role")                                                                                       \
  XX(EREFUSED, -5014, "the store refused the request (4xx)")                                       \
  XX(EREDIRECT, -5015, "the store redirects: use the endpoint of the bucket's own region")         \
  XX(EBADREPLY, -5016, "the reply is not valid HTTP, or ends too early")                           \
  XX(ETOOBIG, -5017, "the reply is larger than its limit")                                         \
  XX(EETAG, -5018, "the store's reply has no usable ETag")                                         \
  XX(EEPOCH, -5019,                                                                                \
     "the election has reached the highest epoch: delete its objects, then restart the electors")  \
  XX(EDUPID, -5020, "another live process stands in this election with the same server ID")        \
  XX(ERECORD, -5021, "the lockfile does not hold a valid record")                                  \
  XX(ELATE, -5022, "a renewal was confirmed only after the validity it was to renew had passed")   \
  XX(ETLS, -5023, "TLS failed")                                                                    \
  XX(ETLSCA, -5024, "TLS: the server's certificate is not signed by a trusted authority")          \
  XX(ETLSNAME, -5025, "TLS: the server's certificate is for another host name")                    \
  XX(ETLSEXPIRED, -5026, "TLS: the server's certificate has expired or is not yet valid")          \
  XX(EDISPUTED, -5027,                                                                             \
     "the store refuses the very ETag that it shows: it cannot compare and swap")                  \
  XX(ERETRIES, -5028, "an operation failed on every attempt of its retry schedule")                \
  XX(EOPTION, -5029, "an option has an invalid value")                                             \
  XX(EUNSAFE, -5030,                                                                               \
     "the store cannot hold an election: it was tried, and does not keep its conditions")          \
  XX(EPROXY, -5031, "the HTTP proxy does not pass the connection on")                              \
  XX(EPEER, -5032, "what the leader's peer address answered cannot be true: it was not believed")  \
  XX(ELISTING, -5033, "the store's listing shows keys that were not asked for")                    \
  XX(ERELEASE, -5034,                                                                              \
     "the release was not confirmed: others may have to wait for a whole leader timeout")          \
  XX(EPEERBACK, -5035, "no failure: the leader answers at its peer address again")                 \
  XX(EPROTOCOL, -5036,                                                                             \
     "electors with another protocol option use the same key: both protocols can have a leader")

typedef enum {
#define XX(name, value, text) S3LECT_##name = value,
  S3LECT_ERRNO_MAP(XX)
#undef XX
      S3LECT_ERRNO_END = -5099
} s3lect_errno_t;

/** Why a function that takes options failed. Each takes one as its last argument, or NULL, and
 * fills it in: after a success, all of it is zero. */
typedef struct s3lect_error_s {
  int code;         /* what the function returned */
  char option[100]; /* what is wrong: a member of the options, an environment variable, or a
                       property of a profile; "" if it is none of these */
  char text[600];   /* one line for people: the option, its value, what is wrong, what to do. It
                       begins with `option`, so that text + strlen(option) is the rest */
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
