/* fakes3/protocol.h: what a protocol (S3, Azure Blob, Google Cloud Storage) adds to the server that
 * all of them share: addresses, signatures, conditions, replies and lists.
 *
 * The shared files name errors by their S3 codes. A protocol's table of errors has the codes that
 * the protocol uses, and says which S3 code a row stands for. */
#ifndef FAKES3_PROTOCOL_H
#define FAKES3_PROTOCOL_H

#include "fakes3/internal.h"

typedef struct fakes3_error_s {
  const char* code;
  int status;
  const char* message;
  const char* s3; /* the S3 code that the row stands for; NULL: it has the same code, or none */
} fakes3_error_t;

/** A row without a code ends a table. */
extern const fakes3_error_t fakes3_s3_errors[];

typedef struct fakes3_listing_s fakes3_listing_t;

struct fakes3_protocol_s {
  const char* name;    /* of --protocol */
  const char* headers; /* with which its own headers begin: "x-amz-" */
  const char* server;  /* of the header Server */
  const char* xml;     /* with which bodies of XML begin */
  const char* xmlns;   /* of its lists; NULL: none */
  fakes3_key_t key;    /* accepted, unless options name others */
  /** Two tables of errors, either may be NULL; of the errors with one status, the most frequent one
   * comes first. The second one is for the codes that the first one lacks. */
  const fakes3_error_t* errors[2];

  /** Reads bucket and key from path and Host. NULL, or the S3 code of the error. */
  const char* (*route)(fakes3_request_t* r);
  /** True if the request is authorised; else makes the error reply. */
  bool (*auth)(fakes3_request_t* r);
  /** The name of the request's credentials, for the log; absent if it has none. */
  s3l_span_t (*access_key)(const fakes3_request_t* r);
  /** Looks at the request's method and parameters, and acts. */
  void (*run)(fakes3_request_t* r);
  /** True if the conditions of a write hold; else makes the error reply. `now` NULL: absent. */
  bool (*check_write)(fakes3_request_t* r, const fakes3_version_t* now);
  /** The same of a read of an object that exists; the reply can also be 304. */
  bool (*check_read)(fakes3_request_t* r, const fakes3_version_t* v);
  /** Gives a version that is written its ETag; `md5`: of its body, in hexadecimal. */
  void (*stamp)(fakes3_request_t* r, fakes3_version_t* v, const char* md5);
  /** Adds to the headers of a reply about one version. NULL: nothing. */
  void (*put_version)(fakes3_request_t* r, const fakes3_version_t* v);
  /** The headers that each reply has. */
  void (*put_headers)(const fakes3_request_t* r, fakes3_bytes_t* out);
  /** Ends the message of an error, and its body. NULL: nothing to add. */
  void (*end_message)(const fakes3_request_t* r, fakes3_bytes_t* out);
  void (*end_error)(const fakes3_request_t* r, fakes3_bytes_t* out);
  /** One entry of a list. */
  void (*put_entry)(const fakes3_request_t* r, fakes3_listing_t* l, const fakes3_object_t* o,
                    const fakes3_version_t* v);
};

extern const fakes3_protocol_t fakes3_s3, fakes3_azure, fakes3_gcs;

/* ---- Signatures: auth.c, azure_auth.c ---- */

/** Signature Version 4, and Google's likeness of it. */
bool fakes3_sigv4_check(fakes3_request_t* r);
s3l_span_t fakes3_sigv4_access_key(const fakes3_request_t* r);
/** Makes an error of the authorisation; false, for the caller to return. */
bool fakes3_refuse(fakes3_request_t* r, const char* code, const char* message);
/** HMAC-SHA256; no key is longer than 64 bytes. */
void fakes3_hmac(fakes3_t* s, s3l_span_t key, s3l_span_t text, uint8_t out[FAKES3_SHA256_SIZE]);
/** Whether the signature of this request is computed: of some of them, if an option says so. */
bool fakes3_verifies(const fakes3_request_t* r);
/** Who holds the token of "Authorization: Bearer": a key's name, or a client that was given it.
 * Absent: nobody. */
s3l_span_t fakes3_bearer(const fakes3_request_t* r);
/** Whether the time is as near to the server's as the stores demand. */
bool fakes3_is_near(const fakes3_request_t* r, int64_t ms);

bool fakes3_azure_auth(fakes3_request_t* r);
s3l_span_t fakes3_azure_access_key(const fakes3_request_t* r);
/** The account that Host or path name, and the path below it: CONTAINER/BLOB, percent-encoded. */
s3l_span_t fakes3_azure_account(const fakes3_request_t* r, s3l_span_t* path);

/* ---- Services of tokens: token.c ---- */

/** True if the request is for one of them. */
bool fakes3_token_route(fakes3_request_t* r);
void fakes3_op_token(fakes3_request_t* r);

/* ---- Operations that protocols share: ops.c ---- */

/** A query parameter; absent if there is no such one. */
s3l_span_t fakes3_param_value(const fakes3_request_t* r, const char* name);

/** Makes an error with one element more; false, for the caller to return. */
bool fakes3_fail(fakes3_request_t* r, const char* code, const char* element, const char* text);
bool fakes3_no_such_key(fakes3_request_t* r);
bool fakes3_not_implemented(fakes3_request_t* r, const char* header);
bool fakes3_precondition_failed(fakes3_request_t* r, const char* condition);

/** Strong comparison of ETags; accepts one with or without quotes. */
bool fakes3_same_etag(s3l_span_t given, const char* etag);
/** If-Match and If-None-Match of a read. */
bool fakes3_check_etags(fakes3_request_t* r, const fakes3_version_t* v);
/** The bucket, which may be made by its first use; NULL: there is none. */
fakes3_bucket_t* fakes3_bucket_of(fakes3_request_t* r);
/** Reply 304. */
void fakes3_not_modified(fakes3_request_t* r, const fakes3_version_t* v);
/** A number that grows, for an ETag that never repeats: microseconds, or more. */
uint64_t fakes3_unique(fakes3_t* s);

/** Each checks the conditions, acts, and makes the reply, with S3's status. False: refused. */
bool fakes3_put_object(fakes3_request_t* r, fakes3_bucket_t* b);
bool fakes3_delete_object(fakes3_request_t* r, fakes3_bucket_t* b);
bool fakes3_get_object(fakes3_request_t* r, fakes3_bucket_t* b);
/** False if the bucket has objects. */
bool fakes3_delete_bucket(fakes3_request_t* r, fakes3_bucket_t* b);

/** A page of a list. */
struct fakes3_listing_s {
  fakes3_bytes_t start; /* the key after which it begins */
  uint64_t max;
  fakes3_bytes_t entries;
  uint64_t count;
  const char* last; /* key */
  bool truncated;
};

/** Reads where the page begins: `token`, of the page before, else `after`; and how long it is at
 * most. False: the error reply is made. */
bool fakes3_list_begin(fakes3_request_t* r, fakes3_listing_t* l, s3l_span_t token, s3l_span_t after,
                       s3l_span_t max, uint64_t limit);
void fakes3_list(fakes3_request_t* r, const fakes3_bucket_t* b, fakes3_listing_t* l);
/** The token of the next page. */
void fakes3_put_token(fakes3_bytes_t* b, const fakes3_listing_t* l);
/** Makes the listing the reply. */
void fakes3_list_end(fakes3_request_t* r, fakes3_listing_t* l);

/** The first label of Host, below a domain that the server serves; empty in path style. */
s3l_span_t fakes3_host_label(const fakes3_request_t* r);
/** Sets the request's bucket and key, of which the key is still percent-encoded. NULL, or the S3
 * code of the error. */
const char* fakes3_request_address(fakes3_request_t* r, s3l_span_t bucket, s3l_span_t key);
void fakes3_put_request_id(const fakes3_request_t* r, fakes3_bytes_t* b);

/* ---- S3's operations, which Google's XML API shares: s3.c ---- */

const char* fakes3_s3_route(fakes3_request_t* r);
void fakes3_s3_run(fakes3_request_t* r);
void fakes3_s3_put_entry(const fakes3_request_t* r, fakes3_listing_t* l, const fakes3_object_t* o,
                         const fakes3_version_t* v);

#endif
