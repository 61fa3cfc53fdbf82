#include "elector/protocol_check.h"

#include <stdio.h>
#include <string.h>

#include "core/record.h"
#include "elector/executor.h"
#include "util/mem.h"

#define PAGE         100                               /* keys of one listing */
#define KEY_SIZE     (S3L_STORE_KEY_MAX + 1)           /* of any key, with the NUL */
#define MESSAGE_SIZE (KEY_SIZE + S3LECT_ID_SIZE + 400) /* a key, an ID and the text around them */

struct s3l_protocol_check_s {
  s3lect_store_req_t req;
  s3l_executor_t* executor;
  bool cancelled;
  bool is_read;         /* `req` reads an object; else it lists epoch files */
  bool in_folder;       /* the prefix of the epoch files is the lockfile's key and a '/' */
  size_t prefix_len;    /* of the prefix of the epoch files, in `key` */
  uint64_t newest;      /* the highest number of the epoch files listed so far; 0: none */
  char key[KEY_SIZE];   /* of the request */
  char after[KEY_SIZE]; /* where the next page begins; "": at the first key */
};

/* Both return an error if the store does not take the request. */

static int read_object(s3l_protocol_check_t* c) {
  c->is_read = true;
  return s3lect_store_get(c->req.store, &c->req);
}

static int list_files(s3l_protocol_check_t* c) {
  c->is_read = false;
  c->req.after = c->after[0] != '\0' ? c->after : NULL;
  return s3lect_store_list(c->req.store, &c->req);
}

/* Looks for the lockfile that has the same key as the prefix of this elector's epoch files, which
 * may end with a '/' more. */
static int look_for_lockfile(s3l_protocol_check_t* c, const char* prefix) {
  size_t n = strlen(prefix);
  if (n > 0 && prefix[n - 1] == '/')
    n--;
  memcpy(c->key, prefix, n);
  return n > 0 ? read_object(c) : S3LECT_ENOTFOUND;
}

/* Looks for epoch files whose prefix is the key of this elector's lockfile, or that and a '/'. */
static int look_for_files(s3l_protocol_check_t* c, const char* lockfile) {
  int n = snprintf(c->key, KEY_SIZE, "%s%s", lockfile, c->in_folder ? "/" : "");
  if (n < 0 || (size_t)n + S3L_EPOCHS_TAIL_SIZE > KEY_SIZE)
    return S3LECT_ENOTFOUND; /* the key of an epoch file would be too long */
  c->prefix_len = (size_t)n;
  c->newest = 0;
  c->after[0] = '\0';
  memcpy(c->key + n, S3L_EPOCHS_STEM, sizeof(S3L_EPOCHS_STEM));
  return list_files(c);
}

/* Takes a page of a listing, then asks for the next page, or reads the newest file. */
static int take_page(s3l_protocol_check_t* c, const s3lect_store_result_t* r) {
  const char* last = "";
  for (size_t i = 0; i < r->entries_len; i++) {
    last = r->entries[i].key;
    size_t len = strlen(last);
    if (len <= c->prefix_len || memcmp(last, c->key, c->prefix_len) != 0)
      return S3LECT_ELISTING;
    uint64_t number = s3l_epochs_number(s3l_span_cstr(last + c->prefix_len));
    c->newest = number > c->newest ? number : c->newest;
  }
  if (r->truncated != 0) {
    if (strlen(last) >= KEY_SIZE || strcmp(last, c->after) <= 0)
      return S3LECT_ELISTING; /* the listing would never end */
    memcpy(c->after, last, strlen(last) + 1);
    return list_files(c);
  }
  if (c->newest == 0)
    return S3LECT_ENOTFOUND;
  s3l_epochs_tail(c->newest, c->key + c->prefix_len);
  return read_object(c);
}

/* Reports the object that was read if somebody may lead by it. */
static bool report(s3l_protocol_check_t* c, const s3lect_store_result_t* r) {
  bool has_files = s3l_files_of(c->executor) != NULL;
  s3l_span_t body = {r->body, r->body_len};
  s3lect_record_t record;
  char message[MESSAGE_SIZE];
  int err =
      has_files ? s3l_record_parse(body, &record) : s3l_record_parse_file(body, c->newest, &record);
  if (err != 0 || record.released)
    return false;
  (void)snprintf(message, sizeof message,
                 "%s says that \"%s\" leads by protocol %s, and this elector uses protocol %s: "
                 "each protocol has a leader of its own. Use the same protocol for all electors, "
                 "or delete that object if no elector uses it",
                 c->key, record.leader_id, has_files ? "lockfile" : "epochs",
                 has_files ? "epochs" : "lockfile");
  s3l_executor_report(c->executor, S3LECT_EPROTOCOL, message);
  return true;
}

static void on_done(s3lect_store_req_t* req, const s3lect_store_result_t* r) {
  s3l_protocol_check_t* c = req->data;
  s3l_executor_t* d = c->executor;
  int err = r->status;
  bool found = false;
  if (c->cancelled)
    err = UV_ECANCELED;
  else if (err == 0 && c->is_read)
    found = report(c, r);
  else if (err == 0 && take_page(c, r) == 0)
    return;
  bool more = !found && !c->in_folder && s3l_files_of(d) == NULL;
  if (more && (err == 0 || err == S3LECT_ENOTFOUND)) {
    c->in_folder = true;
    if (look_for_files(c, s3l_files_election(d)) == 0)
      return;
  }
  d->check = NULL;
  s3l_free(c);
  s3l_executor_wake(d);
}

static void begin(s3l_executor_t* d) {
  s3l_protocol_check_t* c = s3l_calloc(1, sizeof *c);
  if (c == NULL)
    return;
  c->executor = d;
  c->req.data = c;
  c->req.store = d->req.store;
  c->req.key = c->key;
  c->req.max_keys = PAGE;
  c->req.body_max = S3L_RECORD_BODY_MAX;
  c->req.flags = S3LECT_REQ_NO_NOTICES;
  c->req.timeout_ms = d->core.config.request_timeout_ms;
  c->req.cb = on_done;
  const char* election = s3l_files_election(d);
  int err = s3l_files_of(d) != NULL ? look_for_lockfile(c, election) : look_for_files(c, election);
  if (err == 0)
    d->check = c;
  else
    s3l_free(c);
}

void s3l_protocol_check_ask(s3l_executor_t* d) {
  bool can_see = s3l_files_of(d) != NULL || d->req.store->ops->list != NULL;
  bool is_heard = d->on_error != NULL;
  d->check_due = can_see && is_heard && !d->core.config.observer;
}

void s3l_protocol_check_tend(s3l_executor_t* d) {
  s3l_protocol_check_t* c = d->check;
  const s3l_core_t* core = &d->core;
  if (core->phase != S3L_PHASE_STANDING) {
    d->check_due = false;
    if (c != NULL && !c->cancelled) {
      c->cancelled = true;
      s3lect_store_cancel(c->req.store, &c->req);
    }
  } else if (d->check_due && c == NULL && core->op.kind == S3L_OP_NONE &&
             core->observed.kind != S3L_OBSERVED_UNKNOWN) {
    d->check_due = false;
    begin(d);
  }
}

bool s3l_protocol_check_is_busy(const s3l_executor_t* d) {
  return d->check != NULL;
}
