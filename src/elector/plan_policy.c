/* elector/plan_policy.c: the permissions that an elector needs, in the words of each cloud. */
#include <stdio.h>
#include <string.h>

#include "elector/plan.h"
#include "util/json.h"

#define ARN "arn:aws:"
#define KMS "aws:kms"

static bool is_files(const s3l_plan_input_t* in) {
  return in->elector.protocol == S3LECT_PROTOCOL_EPOCHS;
}

/* ---- S3 ---- */

/* `key`: NULL, or what follows the name. */
static void put_statement(s3l_buf_t* b, const char* actions, const char* kind, const char* name,
                          const char* key, const char* tail) {
  char room[2048];
  s3l_buf_t resource;
  s3l_buf_init(&resource, room, sizeof room);
  s3l_buf_printf(&resource, ARN "%s%s%s%s%s", kind, name, key != NULL ? "/" : "",
                 key != NULL ? key : "", tail);
  s3l_json_key(b, NULL);
  s3l_buf_puts(b, "\n    {\"Effect\": \"Allow\", \"Action\": [");
  s3l_buf_puts(b, actions);
  s3l_buf_puts(b, "], \"Resource\": ");
  s3l_json_put_string(b, s3l_buf_span(&resource));
  b->overflow = b->overflow || resource.overflow;
  s3l_buf_putc(b, '}');
}

#define READ_WRITE        "\"s3:GetObject\", \"s3:PutObject\""
#define READ_WRITE_DELETE READ_WRITE ", \"s3:DeleteObject\""

static void put_objects(const s3l_plan_input_t* in, s3l_buf_t* b) {
  const char *bucket = in->plan.bucket, *key = in->elector.lockfile_path;
  bool removes = is_files(in) && !in->elector.keep_epochs;
  put_statement(b, removes ? READ_WRITE_DELETE : READ_WRITE, "s3:::", bucket, key,
                is_files(in) ? "lock-*" : "");
  if (in->elector.verify_on_start)
    put_statement(b, READ_WRITE_DELETE, "s3:::", bucket, key, ".verify-*");
  put_statement(b, "\"s3:ListBucket\"", "s3:::", bucket, NULL, "");
}

static void put_kms(const s3l_plan_input_t* in, s3l_buf_t* b) {
  const char *sse = in->plan.server_side_encryption, *key = in->plan.sse_kms_key_id;
  if (sse == NULL || strncmp(sse, KMS, strlen(KMS)) != 0)
    return;
  key = key != NULL ? key : "*";
  bool is_arn = strncmp(key, ARN, strlen(ARN)) == 0;
  put_statement(b, "\"kms:GenerateDataKey\", \"kms:Decrypt\"", is_arn ? "" : "kms:*:*:key/",
                is_arn ? key + strlen(ARN) : key, NULL, "");
}

static void put_s3(const s3l_plan_input_t* in, s3l_buf_t* b) {
  s3l_buf_puts(b, "{\n  \"Version\": \"2012-10-17\",\n  \"Statement\": [");
  if (in->is_express) { /* of the whole bucket: sessions know no keys */
    put_statement(b, "\"s3express:CreateSession\"", "s3express:*:*:bucket/", in->plan.bucket, NULL,
                  "");
  } else {
    put_objects(in, b);
    put_kms(in, b);
  }
  s3l_buf_puts(b, "\n  ]\n}\n");
}

/* ---- Azure and Google: roles that know no keys ---- */

/* `names`: each with its NUL, then "". */
static void put_role(s3l_buf_t* b, const char* head, const char* prefix, const char* names,
                     const char* tail) {
  s3l_buf_puts(b, head);
  for (; names[0] != '\0'; names += strlen(names) + 1) {
    s3l_json_key(b, NULL);
    s3l_buf_puts(b, "\n    \"");
    s3l_buf_puts(b, prefix);
    s3l_buf_puts(b, names);
    s3l_buf_putc(b, '"');
  }
  s3l_buf_puts(b, tail);
}

/* Delete: old epoch files, and what verify leaves behind. */
static void put_azure(const s3l_plan_input_t* in, s3l_buf_t* b) {
  bool removes = is_files(in) && !in->elector.keep_epochs;
  put_role(b,
           "{\n  \"Name\": \"s3lect elector\",\n  \"Description\": \"Takes part in elections\",\n"
           "  \"Actions\": [],\n  \"DataActions\": [",
           "Microsoft.Storage/storageAccounts/blobServices/containers/blobs/",
           removes || in->elector.verify_on_start ? "read\0write\0delete\0" : "read\0write\0",
           "\n  ],\n  \"AssignableScopes\": [\"/subscriptions/SUBSCRIPTION\"]\n}\n");
}

/* Delete: who replaces an object deletes one, too. */
static void put_google(s3l_buf_t* b) {
  put_role(b, "{\n  \"title\": \"s3lect elector\",\n  \"includedPermissions\": [",
           "storage.objects.", "get\0list\0create\0delete\0", "\n  ]\n}\n");
}

void s3l_plan_policy(const s3l_plan_input_t* in, s3l_buf_t* b) {
  switch (in->plan.store) {
  case S3LECT_PLAN_S3:
    put_s3(in, b);
    break;
  case S3LECT_PLAN_AZURE:
    put_azure(in, b);
    break;
  case S3LECT_PLAN_GCS:
    put_google(b);
    break;
  default:
    break;
  }
}
