/* wire/azure_errors.h: the replies of Azure Blob Storage, and what each of them means; rows as in
 * wire/s3_errors.h. The code is the reply's x-ms-error-code, which Azure sends with every error. So
 * a 404 without one does not come from Azure, and says nothing about the blob. */
#ifndef S3L_WIRE_AZURE_ERRORS_H
#define S3L_WIRE_AZURE_ERRORS_H

#define S3L_AZURE_SAS_ADVICE                                                                       \
  "the shared access signature does not allow this request: it needs the permissions read, "       \
  "create, write, delete and list on the container, this machine's address, and https"

/* clang-format off */
#define S3L_AZURE_ERRORS(XX)                                                                       \
  XX(200, 200, "", READS, OK, SETTLED, NOTHING, NULL)                                              \
  XX(201, 201, "", PUTS, OK, SETTLED, NOTHING, NULL)                                               \
  XX(202, 202, "", DELETES, OK, SETTLED, NOTHING, NULL)                                            \
  XX(100, 299, NULL, ANY, EBADREPLY, UNCERTAIN, NOTHING,                                           \
     "this is not a reply of Azure Blob Storage: check the endpoint, and the proxies before it")   \
  XX(304, 304, NULL, OBJECTS, ENOTMODIFIED, SETTLED, NOTHING, NULL)                                \
  XX(300, 399, NULL, ANY, EREDIRECT, NOT_APPLIED, NOTHING,                                         \
     "Azure Blob Storage does not redirect: check the endpoint, and the proxies before it")        \
                                                                                                   \
  XX(400, 401, "InvalidAuthenticationInfo", ANY, ESIGNATURE, NOT_APPLIED, KEYS,                    \
     "the token has expired, or is of another tenant or resource: check the identity")             \
  XX(401, 401, "NoAuthenticationInformation", ANY, ESIGNATURE, NOT_APPLIED, KEYS,                  \
     "the request had no credentials that Azure knows: check the shared access signature")         \
  XX(403, 403, "AuthenticationFailed", ANY, ESIGNATURE, NOT_APPLIED, SKEW_PERHAPS,                 \
     "check the account key or the shared access signature (its end, too) and that it is of this " \
     "account; a wrong clock and a proxy that changes headers also make signatures invalid")       \
  XX(403, 403, "AuthorizationPermissionMismatch", ANY, EDENIED, NOT_APPLIED, NOTHING,              \
     "assign the role Storage Blob Data Contributor on the container to this identity (it takes "  \
     "effect after up to ten minutes); a shared access signature needs the permissions read, "     \
     "create, write, delete and list")                                                             \
  XX(403, 403, "AuthorizationFailure", ANY, EDENIED, NOT_APPLIED, NOTHING,                         \
     "the account's firewall or the role does not allow this: check the account's networking, and "\
     "assign the role Storage Blob Data Contributor on the container")                             \
  XX(403, 403, "KeyBasedAuthenticationNotPermitted", ANY, EDENIED, NOT_APPLIED, NOTHING,           \
     "the account does not accept account keys: leave the key away, so that Entra's identity is "  \
     "used")                                                                                       \
  XX(403, 403, "UnauthorizedBlobOverwrite", ANY, EDENIED, NOT_APPLIED, NOTHING,                    \
     S3L_AZURE_SAS_ADVICE)                                                                         \
  XX(403, 403, "Authorization*", ANY, EDENIED, NOT_APPLIED, NOTHING, S3L_AZURE_SAS_ADVICE)         \
  XX(403, 403, "AccountIsDisabled", ANY, EDENIED, NOT_APPLIED, NOTHING,                            \
     "the storage account is disabled: ask the owner of the subscription")                         \
  XX(403, 403, NULL, ANY, EDENIED, NOT_APPLIED, NOTHING,                                           \
     "assign the role Storage Blob Data Contributor on the container to this identity")            \
                                                                                                   \
  XX(404, 404, "BlobNotFound", OBJECTS | WRITES, ENOTFOUND, SETTLED, NOTHING, NULL)                \
  XX(404, 404, "ContainerNotFound", ANY, ENOBUCKET, NOT_APPLIED, NOTHING,                          \
     "create the container, or check its name, the account and the endpoint")                      \
  XX(409, 409, "ContainerBeingDeleted", ANY, ENOBUCKET, NOT_APPLIED, NOTHING,                      \
     "the container is being deleted: create it again later, or use another one")                  \
  XX(409, 409, "BlobAlreadyExists", PUTS, EPRECONDITION, SETTLED, NOTHING,                         \
     "another process wrote first, which is normal in an election; nothing to do")                 \
  XX(409, 409, "BlobImmutableDueToPolicy", WRITES, EREFUSED, NOT_APPLIED, NOTHING,                 \
     "the container has an immutability policy: use a container without one")                      \
  XX(409, 409, "SnapshotsPresent", DELETES, EREFUSED, NOT_APPLIED, NOTHING,                        \
     "somebody made snapshots of the blob, which must be deleted first")                           \
  XX(412, 412, "Lease*", WRITES, EREFUSED, NOT_APPLIED, NOTHING,                                   \
     "somebody holds a lease on the blob, which s3lect does not use: break the lease")             \
  XX(413, 413, NULL, PUTS, EREFUSED, NOT_APPLIED, NOTHING,                                         \
     "the object is larger than the store, or a proxy before it, takes")                           \
  XX(503, 503, "ServerBusy", ANY, ETHROTTLED, UNCERTAIN, NOTHING,                                  \
     "too many requests to this account or partition: lengthen the intervals, or spread the "      \
     "lockfiles over containers")
/* clang-format on */

#endif
