/* wire/gcs_errors.h: the replies of Google Cloud Storage's XML API, and what each of them means; as
 * s3_errors.h, which explains the rows.
 *
 * A 404 is about the object only if it has Google's code: a page of a proxy does not. Requests have
 * no condition that 304 could answer. */
#ifndef S3L_WIRE_GCS_ERRORS_H
#define S3L_WIRE_GCS_ERRORS_H

/* clang-format off */
#define S3L_GCS_ERRORS(XX)                                                                         \
  XX(200, 200, "", READS | WRITES, OK, SETTLED, NOTHING, NULL)                                     \
  XX(204, 204, "", WRITES, OK, SETTLED, NOTHING, NULL)                                             \
  XX(200, 200, NULL, ANY, ESERVER, UNCERTAIN, NOTHING,                                             \
     "the store failed after it had begun to answer")                                              \
  XX(100, 299, NULL, ANY, EBADREPLY, UNCERTAIN, NOTHING,                                           \
     "this is not a reply of Cloud Storage: check that the endpoint is its XML API, and check "    \
     "the proxies before it")                                                                      \
  XX(304, 304, NULL, ANY, EBADREPLY, UNCERTAIN, NOTHING,                                           \
     "a cache before the store has answered: bypass it")                                           \
  XX(300, 399, NULL, ANY, EREDIRECT, NOT_APPLIED, NOTHING,                                         \
     "redirects are not followed: check the endpoint, and the proxies before it")                  \
                                                                                                   \
  XX(400, 403, "RequestTimeTooSkewed", ANY, ESKEW, NOT_APPLIED, CLOCK,                             \
     "set this machine's clock by NTP; the store accepts 15 minutes of difference")                \
  XX(400, 403, "SignatureDoesNotMatch", ANY, ESIGNATURE, NOT_APPLIED, SKEW_PERHAPS,                \
     "check the secret of the HMAC key (also for blanks and line ends); a proxy that changes "     \
     "headers or paths, and a wrong clock, also make signatures invalid")                          \
  XX(400, 403, "InvalidSecurity", ANY, ESIGNATURE, NOT_APPLIED, KEYS,                              \
     "the store does not know this HMAC key: check that it still exists, and is active")           \
  XX(400, 403, "InvalidAccessKeyId", ANY, ESIGNATURE, NOT_APPLIED, KEYS,                           \
     "the store does not know this HMAC key: check that it still exists, and is active")           \
  XX(400, 403, "ExpiredToken", ANY, ESIGNATURE, NOT_APPLIED, KEYS,                                 \
     "the token has expired: obtain a new one, or let the process do so (a service account)")      \
  XX(401, 401, NULL, ANY, ESIGNATURE, NOT_APPLIED, KEYS,                                           \
     "the store does not accept the token: it may have expired, or not be for Cloud Storage (the " \
     "scope devstorage.read_write)")                                                               \
  XX(400, 403, "CloudKms*", ANY, EDENIED, NOT_APPLIED, NOTHING,                                    \
     "the bucket's Cloud KMS key cannot be used: allow the service agent of Cloud Storage "        \
     "roles/cloudkms.cryptoKeyEncrypterDecrypter on it, and check that it is enabled")             \
  XX(400, 403, "UserProject*", ANY, EDENIED, NOT_APPLIED, NOTHING,                                 \
     "the bucket lets those pay who use it (Requester Pays), which s3lect does not support: use "  \
     "another bucket")                                                                             \
  XX(403, 403, "AccountProblem", ANY, EDENIED, NOT_APPLIED, NOTHING,                               \
     "the project has a problem (billing): ask who runs it")                                       \
  XX(403, 403, "RetentionPolicyNotMet", WRITES, EDENIED, NOT_APPLIED, NOTHING,                     \
     "the bucket has a retention policy, so that the lockfile cannot be replaced: use a bucket "   \
     "without")                                                                                    \
  XX(403, 403, "ObjectUnderActiveHold", WRITES, EDENIED, NOT_APPLIED, NOTHING,                     \
     "the object has a hold, so that it cannot be replaced: release the hold")                     \
  XX(403, 403, NULL, GETS, EDENIED, NOT_APPLIED, NOTHING,                                          \
     "allow storage.objects.get and storage.objects.list (roles/storage.objectUser has all that "  \
     "is needed): without list, the store answers 403 for a missing object")                       \
  XX(403, 403, NULL, PUTS, EDENIED, NOT_APPLIED, NOTHING,                                          \
     "allow storage.objects.create and storage.objects.delete (roles/storage.objectUser has all "  \
     "that is needed): to replace an object takes both")                                           \
  XX(403, 403, NULL, LISTS, EDENIED, NOT_APPLIED, NOTHING,                                         \
     "allow storage.objects.list (roles/storage.objectUser has all that is needed)")               \
  XX(403, 403, NULL, DELETES, EDENIED, NOT_APPLIED, NOTHING,                                       \
     "allow storage.objects.delete (roles/storage.objectUser has all that is needed)")             \
                                                                                                   \
  XX(404, 404, "NoSuchBucket", ANY, ENOBUCKET, NOT_APPLIED, NOTHING,                               \
     "create the bucket, or check its name and the endpoint")                                      \
  XX(404, 404, "NoSuchKey", OBJECTS | WRITES, ENOTFOUND, SETTLED, NOTHING, NULL)                   \
  XX(429, 429, NULL, ANY, ETHROTTLED, NOT_APPLIED, NOTHING,                                        \
     "the store takes one write a second to an object: lengthen the renewal interval; also check " \
     "the project's quotas")                                                                       \
  XX(503, 503, "SlowDown", ANY, ETHROTTLED, UNCERTAIN, NOTHING,                                    \
     "too many requests to this bucket: lengthen the intervals")
/* clang-format on */

#endif
