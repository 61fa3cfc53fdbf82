/* wire/s3_errors.h: the replies of S3 and compatible stores, and what each of them means.
 *
 * One table: s3_reply.c judges replies by it, messages to operators contain its sentences, and
 * docs/errors.md is generated from it (test/wire/test-errors_page.c).
 *
 * A row:  first, last   HTTP statuses, from .. to
 *         code          of the S3 error; "" none; NULL any; "KMS.*" all that begin with "KMS."
 *         ops           which operations: READS, WRITES, ANY, PUTS, ...
 *         status        0 or our error, without its prefix
 *         outcome       of a write (a read has no effect: it is never UNCERTAIN)
 *         recovery      what the store layer can correct by itself before it sends again
 *         advice        what the operator should do; NULL if there is nothing to do
 *
 * The first row that matches decides. NOT_APPLIED is for replies of a store that refuses a request
 * before it acts on it. Rows with codes come first: stores agree more on codes than on statuses. */
#ifndef S3L_WIRE_S3_ERRORS_H
#define S3L_WIRE_S3_ERRORS_H

/* clang-format off */
#define S3L_S3_ERRORS(XX)                                                                          \
  /* With any status: the store lacks a feature that the request needs. */                         \
  XX(400, 599, "NotImplemented", ANY, EUNSUPPORTED, NOT_APPLIED, NOTHING,                          \
     "the store does not implement conditional writes (or another header of the request): use "    \
     "another store; s3lect verify says which protocols this store supports")                      \
                                                                                                   \
  XX(200, 200, "", READS, OK, SETTLED, NOTHING, NULL)                                              \
  XX(200, 201, "", PUTS, OK, SETTLED, NOTHING, NULL)                                               \
  XX(204, 204, "", WRITES, OK, SETTLED, NOTHING, NULL)                                             \
  XX(200, 200, "", DELETES, OK, SETTLED, NOTHING, NULL)                                            \
  /* S3 can find out about a failure after it has sent 200: the error is in the body. */           \
  XX(200, 200, NULL, ANY, ESERVER, UNCERTAIN, NOTHING,                                             \
     "the store failed after it had begun to answer; if this continues, look at the store's own "  \
     "health")                                                                                     \
  XX(100, 299, NULL, ANY, EBADREPLY, UNCERTAIN, NOTHING,                                           \
     "this is not a reply of S3: check that the endpoint is an S3 API, and check the proxies "     \
     "before it")                                                                                  \
                                                                                                   \
  XX(304, 304, NULL, OBJECTS, ENOTMODIFIED, SETTLED, NOTHING, NULL)                                \
  /* Some MinIO releases answer a failed If-None-Match on a PUT so. */                             \
  XX(304, 304, NULL, WRITES, EPRECONDITION, SETTLED, NOTHING,                                      \
     "another process wrote first, which is normal in an election; nothing to do")                 \
  XX(301, 301, "PermanentRedirect", ANY, EREGION, NOT_APPLIED, REGION,                             \
     "the bucket is in another region: set AWS_REGION (or the option region) to it")               \
  XX(307, 307, NULL, ANY, EREDIRECT, NOT_APPLIED, REDIRECT,                                        \
     "a redirect is followed only to the endpoint's own host, or a host below it, at the same "    \
     "port, for the same object: use the endpoint of the bucket's own region")                     \
  XX(300, 399, NULL, ANY, EREDIRECT, NOT_APPLIED, REGION,                                          \
     "use the endpoint of the bucket's own region; a bucket created less than a day ago may "      \
     "need its regional endpoint until DNS knows the bucket")                                      \
                                                                                                   \
  XX(400, 403, "RequestTimeTooSkewed", ANY, ESKEW, NOT_APPLIED, CLOCK,                             \
     "set this machine's clock (NTP); the store accepts 15 minutes of difference")                 \
  XX(400, 403, "RequestExpired", ANY, ESKEW, NOT_APPLIED, CLOCK,                                   \
     "set this machine's clock (NTP)")                                                             \
  XX(400, 403, "RequestInTheFuture", ANY, ESKEW, NOT_APPLIED, CLOCK,                               \
     "set this machine's clock (NTP)")                                                             \
  XX(400, 403, "SignatureDoesNotMatch", ANY, ESIGNATURE, NOT_APPLIED, SKEW_PERHAPS,                \
     "check the secret access key (also for blanks and line ends); a proxy that changes headers "  \
     "or paths, and a wrong clock, also make signatures invalid")                                  \
  XX(400, 403, "InvalidAccessKeyId", ANY, ESIGNATURE, NOT_APPLIED, KEYS,                           \
     "the store does not know this access key: check that the key belongs to this store, and "     \
     "still exists")                                                                               \
  XX(400, 403, "InvalidToken", ANY, ESIGNATURE, NOT_APPLIED, KEYS,                                 \
     "the session token does not belong to the access key: set AWS_SESSION_TOKEN together with "   \
     "the keys, or unset it")                                                                      \
  XX(400, 403, "ExpiredToken", ANY, ESIGNATURE, NOT_APPLIED, KEYS,                                 \
     "the temporary keys have expired: obtain new ones, or let the process do so (a profile, a "   \
     "role)")                                                                                      \
  XX(400, 403, "TokenRefreshRequired", ANY, ESIGNATURE, NOT_APPLIED, KEYS,                         \
     "the temporary keys must be renewed: obtain new ones")                                        \
  XX(400, 403, "AuthorizationHeaderMalformed", ANY, EREFUSED, NOT_APPLIED, REGION,                 \
     "the signature names the wrong region, or the access key has blanks in it: set AWS_REGION "   \
     "to the bucket's")                                                                            \
  XX(400, 403, "IllegalLocationConstraintException", ANY, EREGION, NOT_APPLIED, REGION,            \
     "the bucket is in another region: set AWS_REGION to it")                                      \
  XX(400, 403, "KMS.*", ANY, EDENIED, NOT_APPLIED, NOTHING,                                        \
     "the bucket's KMS key cannot be used: allow kms:GenerateDataKey and kms:Decrypt on it, and "  \
     "check that it is enabled")                                                                   \
  XX(403, 403, "AccountProblem", ANY, EDENIED, NOT_APPLIED, NOTHING,                               \
     "the account has a problem (billing, closure): ask the store's operator")                     \
  XX(403, 403, NULL, GETS, EDENIED, NOT_APPLIED, NOTHING,                                          \
     "allow s3:GetObject on the key and s3:ListBucket on the bucket: without ListBucket, S3 "      \
     "answers 403 for a missing key")                                                              \
  XX(403, 403, NULL, PUTS, EDENIED, NOT_APPLIED, NOTHING,                                          \
     "allow s3:PutObject and s3:GetObject on the key (If-Match needs both), with KMS also "        \
     "kms:GenerateDataKey and kms:Decrypt; the bucket may require encryption headers, or "         \
     "another account may own it (x-amz-expected-bucket-owner)")                                   \
  XX(403, 403, NULL, LISTS, EDENIED, NOT_APPLIED, NOTHING,                                         \
     "allow s3:ListBucket on the bucket")                                                          \
  XX(403, 403, NULL, SESSIONS, EDENIED, NOT_APPLIED, NOTHING,                                      \
     "allow s3express:CreateSession on the directory bucket")                                      \
  XX(403, 403, NULL, DELETES, EDENIED, NOT_APPLIED, NOTHING,                                       \
     "allow s3:DeleteObject on the key, so that temporary objects can be removed")                 \
                                                                                                   \
  XX(404, 404, "NoSuchBucket", ANY, ENOBUCKET, NOT_APPLIED, NOTHING,                               \
     "create the bucket, or check its name, the region and the endpoint")                          \
  XX(404, 404, "NoSuchKey", OBJECTS | WRITES, ENOTFOUND, SETTLED, NOTHING, NULL)                   \
  /* Without a body; a store that identifies itself is judged in store/remote_reply.c. */           \
  XX(404, 404, "", OBJECTS | WRITES, ENOTFOUND, SETTLED, NOTHING, NULL)                            \
  XX(404, 404, "XAdminUserNotFound", ANY, ESIGNATURE, NOT_APPLIED, KEYS,                           \
     "the store does not know this access key: check that the key belongs to this store, and "     \
     "still exists")                                                                               \
  XX(400, 400, "RequestTimeout", ANY, ESERVER, NOT_APPLIED, NOTHING,                               \
     "the request did not reach the store in time: look at the network")                           \
  XX(400, 400, "InvalidBucketName", ANY, EREFUSED, NOT_APPLIED, NOTHING,                           \
     "check the bucket's name")                                                                    \
  XX(400, 400, "KeyTooLongError", ANY, EREFUSED, NOT_APPLIED, NOTHING,                             \
     "shorten the lockfile's path: keys have at most 1024 bytes")                                  \
  XX(400, 400, "InvalidRequest", PUTS, EREFUSED, NOT_APPLIED, NOTHING,                             \
     "the bucket may require headers that were not sent (encryption, or with Object Lock a "       \
     "checksum): add them as additional headers")                                                  \
  XX(400, 400, "XAmzContentSHA256Mismatch", ANY, EREFUSED, NOT_APPLIED, NOTHING,                   \
     "a proxy between this machine and the store changes the request: bypass that proxy")          \
  XX(400, 400, "BadDigest", ANY, EREFUSED, NOT_APPLIED, NOTHING,                                   \
     "a proxy between this machine and the store changes the request: bypass that proxy")          \
  XX(503, 503, "SlowDown", ANY, ETHROTTLED, UNCERTAIN, NOTHING,                                    \
     "too many requests to this bucket or prefix: lengthen the intervals, or spread the "          \
     "lockfiles over prefixes")
/* clang-format on */

#endif
