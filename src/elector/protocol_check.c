#include "elector/protocol_check.h"

#include <stdio.h>
#include <string.h>

#include "core/protocol.h"
#include "core/record.h"
#include "store/store.h"
#include "util/mem.h"

#define PAGE         100                               /* keys of one listing */
#define KEY_SIZE     (S3L_STORE_KEY_MAX + 1)           /* of any key, with the NUL */
#define MESSAGE_SIZE (KEY_SIZE + S3LECT_ID_SIZE + 400) /* a key, an ID and the text around them */

struct s3l_protocol_check_s {
  s3lect_store_req_t req;
  s3l_protocol_check_cb cb;
  void* data;
  const char* election; /* the elector's key or prefix */
  bool cancelled;
  bool is_read;         /* `req` reads an object; else it lists epoch files */
  bool folder_left;     /* the next prefix to look at is the lockfile's key and a '/' */
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
static int look_for_lockfile(s3l_protocol_check_t* c) {
  size_t n = strlen(c->election);
  if (n > 0 && c->election[n - 1] == '/')
    n--;
  memcpy(c->key, c->election, n);
  return n > 0 ? read_object(c) : S3LECT_ENOTFOUND;
}

/* Looks for epoch files whose prefix is the key of this elector's lockfile, and `more`. */
static int look_for_files(s3l_protocol_check_t* c, const char* more) {
  int n = snprintf(c->key, KEY_SIZE, "%s%s", c->election, more);
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

/* The text about the object that was read, if somebody may lead by it; else NULL. */
static const char* found(const s3l_protocol_check_t* c, const s3lect_store_result_t* r,
                         char message[MESSAGE_SIZE]) {
  bool is_file = c->newest > 0;
  s3l_span_t body = {r->body, r->body_len};
  s3lect_record_t record;
  int err =
      is_file ? s3l_record_parse_file(body, c->newest, &record) : s3l_record_parse(body, &record);
  if (err != 0 || record.released)
    return NULL;
  (void)snprintf(message, MESSAGE_SIZE,
                 "%s says that \"%s\" leads by protocol %s, and this elector uses protocol %s: "
                 "each protocol has a leader of its own. Use the same protocol for all electors, "
                 "or delete that object if no elector uses it",
                 c->key, record.leader_id, is_file ? "epochs" : "lockfile",
                 is_file ? "lockfile" : "epochs");
  return message;
}

static void on_done(s3lect_store_req_t* req, const s3lect_store_result_t* r) {
  s3l_protocol_check_t* c = req->data;
  char text[MESSAGE_SIZE];
  const char* message = NULL;
  int err = c->cancelled ? UV_ECANCELED : r->status;
  if (err == 0 && c->is_read)
    message = found(c, r, text);
  else if (err == 0 && take_page(c, r) == 0)
    return;
  if (message == NULL && c->folder_left && (err == 0 || err == S3LECT_ENOTFOUND)) {
    c->folder_left = false;
    if (look_for_files(c, "/") == 0)
      return;
  }
  c->cb(c->data, message);
  s3l_free(c);
}

bool s3l_protocol_check_is_possible(const s3lect_store_t* store, const s3l_core_config_t* config) {
  return config->protocol->listed || store->ops->list != NULL;
}

s3l_protocol_check_t* s3l_protocol_check_begin(s3lect_store_t* store, const char* election,
                                               const s3l_core_config_t* config,
                                               s3l_protocol_check_cb cb, void* data) {
  s3l_protocol_check_t* c = s3l_calloc(1, sizeof *c);
  if (c == NULL)
    return NULL;
  c->cb = cb;
  c->data = data;
  c->election = election;
  c->req.data = c;
  c->req.store = store;
  c->req.key = c->key;
  c->req.max_keys = PAGE;
  c->req.body_max = S3L_RECORD_BODY_MAX;
  c->req.flags = S3LECT_REQ_NO_NOTICES;
  c->req.timeout_ms = config->request_timeout_ms;
  c->req.cb = on_done;
  c->folder_left = !config->protocol->listed;
  if ((config->protocol->listed ? look_for_lockfile(c) : look_for_files(c, "")) == 0)
    return c;
  s3l_free(c);
  return NULL;
}

void s3l_protocol_check_cancel(s3l_protocol_check_t* c) {
  if (c->cancelled)
    return;
  c->cancelled = true;
  s3lect_store_cancel(c->req.store, &c->req);
}
