#include "lib/fakes3_rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fakes3/bytes.h"
#include "lib/test.h"
#include "lib/wait.h"
#include "loop/clock.h"
#include "util/span.h"
#include "util/xml.h"

s3l_fakes3_rig_t rig;

/* ---- Connections ---- */

static void on_data(s3l_test_conn_t* conn, const char* p, size_t n) {
  s3l_raw_t* raw = conn->server->data;
  assert_true(n <= S3L_RAW_MAX - raw->n);
  memcpy(raw->in + raw->n, p, n);
  raw->n += n;
  raw->in[raw->n] = '\0';
}

static void on_end(s3l_test_conn_t* conn, int status) {
  s3l_raw_t* raw = conn->server->data;
  raw->ended = status;
}

static void turn(s3l_raw_t* raw) {
  s3l_turn(raw->net.loop);
}

int s3l_raw_connect(s3l_raw_t* raw) {
  struct sockaddr_in addr;
  fakes3_counters_t before, now;
  fakes3_counters(rig.server, &before);
  memset(raw, 0, sizeof(*raw));
  s3l_test_server_init(&raw->net, &rig.loop, sizeof(s3l_test_conn_t));
  raw->net.data = raw;
  raw->net.on_data = on_data;
  raw->net.on_end = on_end;
  assert_int_equal(uv_ip4_addr("127.0.0.1", fakes3_port(rig.server), &addr), 0);
  raw->conn = s3l_test_server_dial(&raw->net, (const struct sockaddr*)&addr);
  while (!raw->conn->ready && raw->ended == 0)
    turn(raw);
  while (fakes3_counters(rig.server, &now),
         raw->ended == 0 && now.connections == before.connections)
    turn(raw);
  return raw->ended;
}

void s3l_raw_send(s3l_raw_t* raw, const char* p, size_t n) {
  s3l_test_conn_send(raw->conn, p, n);
}

void s3l_raw_start(s3l_raw_t* raw) {
  assert_int_equal(s3l_raw_connect(raw), 0);
  s3l_raw_send(raw, rig.bytes, rig.bytes_n);
}

void s3l_raw_close(s3l_raw_t* raw) {
  if (raw->conn == NULL)
    return;
  s3l_test_conn_cut(raw->conn, false);
  raw->conn = NULL;
  while (raw->net.open > 0)
    turn(raw);
}

int s3l_raw_wait_end(s3l_raw_t* raw) {
  while (raw->ended == 0)
    turn(raw);
  return raw->ended;
}

/* ---- Replies ---- */

const char* s3l_raw_header(const char* name) {
  static char value[1024];
  size_t n = strlen(name);
  for (const char* line = strstr(rig.reply.head, "\r\n"); line != NULL;
       line = strstr(line + 2, "\r\n")) {
    s3l_span_t found = {line + 2, n};
    if (strlen(line + 2) <= n || !s3l_span_ieq(found, s3l_span_cstr(name)) || line[2 + n] != ':')
      continue;
    const char* text = line + 2 + n + 1;
    const char* end = strstr(text, "\r\n");
    size_t len = end != NULL ? (size_t)(end - text) : strlen(text);
    assert_true(s3l_span_copy(s3l_span_trim((s3l_span_t){text, len}), value, sizeof(value)));
    return value;
  }
  return NULL;
}

const char* s3l_raw_tag(const char* name) {
  static char value[2048];
  bool found = s3l_xml_text(s3l_span_cstr(rig.reply.body), name, value, sizeof(value));
  return found ? value : NULL;
}

/* Whole chunked bodies are left in their framing; a body without length goes up to the end. */
static size_t body_end(s3l_raw_t* raw, bool head, size_t start) {
  const char* length = s3l_raw_header("Content-Length");
  uint64_t n = 0;
  if (head || rig.reply.status == 204 || rig.reply.status == 304 || rig.reply.status < 200)
    return start;
  if (length != NULL) {
    assert_true(s3l_span_to_u64(s3l_span_cstr(length), &n));
    return start + (size_t)n;
  }
  if (s3l_raw_header("Transfer-Encoding") != NULL) {
    const char* end;
    while ((end = strstr(raw->in + start, "0\r\n\r\n")) == NULL && raw->ended == 0)
      turn(raw);
    return end != NULL ? (size_t)(end + 5 - raw->in) : S3L_RAW_MAX;
  }
  s3l_raw_wait_end(raw);
  return raw->n;
}

int s3l_raw_reply(s3l_raw_t* raw, bool head) {
  const char* end;
  uint64_t status = 0;
  memset(&rig.reply, 0, sizeof(rig.reply));
  while ((end = strstr(raw->in, "\r\n\r\n")) == NULL && raw->ended == 0)
    turn(raw);
  if (end == NULL)
    return raw->ended;
  size_t start = (size_t)(end - raw->in) + 4;
  assert_true(start < sizeof(rig.reply.head));
  memcpy(rig.reply.head, raw->in, start - 2);
  if (strncmp(rig.reply.head, "HTTP/1.", 7) != 0 ||
      !s3l_span_to_u64((s3l_span_t){rig.reply.head + 9, 3}, &status))
    return UV_EPROTO;
  rig.reply.status = (int)status;
  size_t whole = body_end(raw, head, start);
  while (raw->ended == 0 && raw->n < whole)
    turn(raw);
  if (raw->n < whole)
    return raw->ended;
  memcpy(rig.reply.body, raw->in + start, whole - start);
  memmove(raw->in, raw->in + whole, raw->n - whole + 1);
  raw->n -= whole;
  return rig.reply.status;
}

/* ---- The rig ---- */

static bool speaks(const char* protocol) {
  return strcmp(rig.protocol, protocol) == 0;
}

void s3l_fakes3_open(const fakes3_options_t* options) {
  char why[256] = "";
  fakes3_options_t o = *options;
  const char* protocol = o.protocol != NULL ? o.protocol : rig.protocol;
  memset(&rig, 0, sizeof(rig));
  o.protocol = rig.protocol = protocol != NULL ? protocol : "s3";
  rig.written = speaks("azure") ? 201 : 200;
  rig.deleted = speaks("azure") ? 202 : 204;
  if (!speaks("s3") && o.keys[0].access_key == NULL) {
    o.keys[0] = speaks("azure") ? (fakes3_key_t){FAKES3_ACCOUNT, FAKES3_ACCOUNT_KEY, NULL}
                                : (fakes3_key_t){FAKES3_ACCESS_KEY, FAKES3_SECRET_KEY, NULL};
    o.keys[1] = (fakes3_key_t){"rig", "", S3L_RIG_TOKEN};
  }
  assert_int_equal(uv_loop_init(&rig.loop), 0);
  if (fakes3_start(&rig.loop, &o, &rig.server, why, sizeof(why)) != 0)
    fail_msg("%s", why);
  assert_true(s3l_signer_open(&rig.signer));
}

static void on_stopped(void* arg) {
  *(bool*)arg = true;
}

void s3l_fakes3_close(void) {
  bool stopped = false;
  s3l_raw_close(&rig.raw);
  fakes3_stop(rig.server, on_stopped, &stopped);
  uv_run(&rig.loop, UV_RUN_DEFAULT);
  assert_true(stopped);
  assert_int_equal(uv_loop_close(&rig.loop), 0);
  s3l_signer_close(&rig.signer);
}

int s3l_open_rig(void** state) {
  s3l_fakes3_open(&(fakes3_options_t){0});
  return 0;
}

int s3l_close_rig(void** state) {
  s3l_fakes3_close();
  return 0;
}

static s3l_span_t text_or(const char* s, const char* standard) {
  return s3l_span_cstr(s != NULL ? s : standard);
}

static const char* host_of(const s3l_fakes3_request_t* q) {
  return q->host != NULL ? q->host : strstr(fakes3_url(rig.server), "//") + 2;
}

/* ---- Requests of Azure and Google ---- */

static void put_address(fakes3_bytes_t* b, const s3l_fakes3_request_t* q) {
  static const char* const methods[] = {
      [S3L_S3_GET] = "GET",       [S3L_S3_HEAD] = "HEAD", [S3L_S3_PUT] = "PUT",
      [S3L_S3_DELETE] = "DELETE", [S3L_S3_LIST] = "GET",
  };
  bool azure = speaks("azure");
  bool list = q->op == S3L_S3_LIST;
  const char* after = azure ? "marker" : "start-after";
  fakes3_printf(b, "%s /%s%s", methods[q->op], azure ? FAKES3_ACCOUNT "/" : "",
                q->bucket != NULL ? q->bucket : "bucket");
  fakes3_puts(b, !list   ? "/"
                 : azure ? "?restype=container&comp=list&prefix="
                         : "?list-type=2&prefix=");
  fakes3_put_uri(b, text_or(q->key, ""), !list);
  if (list && q->after != NULL) {
    fakes3_printf(b, "&%s=", after);
    fakes3_put_uri(b, s3l_span_cstr(q->after), 0);
  }
  if (list)
    fakes3_printf(b, "&%s=%u", azure ? "maxresults" : "max-keys",
                  q->max_keys > 0 ? q->max_keys : 1000);
  fakes3_printf(b, " HTTP/1.1\r\nHost: %s\r\n", host_of(q));
}

static void put_header(fakes3_bytes_t* b, const char* name, const char* value) {
  if (value != NULL)
    fakes3_printf(b, "%s: %s\r\n", name, value);
}

static void put_headers(fakes3_bytes_t* b, const s3l_fakes3_request_t* q) {
  bool azure = speaks("azure");
  bool put = q->op == S3L_S3_PUT;
  bool generation = !azure && (put || q->op == S3L_S3_DELETE);
  const char* absent = q->if_none_match != NULL ? "0" : NULL;
  put_header(b, "User-Agent", q->user_agent != NULL ? q->user_agent : "rig");
  fakes3_printf(b, "Authorization: Bearer %s\r\n", q->token != NULL ? q->token : S3L_RIG_TOKEN);
  put_header(b, "x-ms-version", azure ? "2023-11-03" : NULL);
  put_header(b, "x-ms-blob-type", azure && put ? "BlockBlob" : NULL);
  put_header(b, generation ? "x-goog-if-generation-match" : "If-Match", q->if_match);
  put_header(b, generation ? "x-goog-if-generation-match" : "If-None-Match",
             generation ? absent : q->if_none_match);
  if (put)
    fakes3_printf(b, "Content-Length: %zu\r\n", q->body != NULL ? strlen(q->body) : 0);
  fakes3_puts(b, "\r\n");
  if (put)
    fakes3_put_span(b, text_or(q->body, ""));
}

static void write_with_token(const s3l_fakes3_request_t* q) {
  fakes3_bytes_t b = {NULL, 0, 0};
  put_address(&b, q);
  put_headers(&b, q);
  assert_true(b.n < sizeof(rig.bytes));
  memcpy(rig.bytes, fakes3_cstr(&b), b.n + 1);
  rig.bytes_n = b.n;
  fakes3_bytes_free(&b);
}

void s3l_fakes3_sign(const s3l_fakes3_request_t* q) {
  if (!speaks("s3")) {
    write_with_token(q);
    return;
  }
  const s3l_s3_target_t target = {
      .host = s3l_span_cstr(host_of(q)),
      .bucket = text_or(q->bucket, "bucket"),
      .region = text_or(q->region, "us-east-1"),
      .user_agent = text_or(q->user_agent, "rig"),
      .express = q->express,
  };
  const s3l_s3_keys_t keys = {
      .access_key = text_or(q->access_key, FAKES3_ACCESS_KEY),
      .secret = text_or(q->secret, FAKES3_SECRET_KEY),
      .token = text_or(q->token, ""),
  };
  const s3l_s3_request_t request = {
      .op = q->op,
      .key = text_or(q->key, ""),
      .if_match = s3l_span_cstr(q->if_match),
      .if_none_match = s3l_span_cstr(q->if_none_match),
      .body = text_or(q->body, ""),
      .after = text_or(q->after, ""),
      .max_keys = q->max_keys > 0 ? q->max_keys : 1000,
  };
  int64_t ms = s3l_clock_wall_ms() + q->skew_ms;
  assert_int_equal(s3l_s3_request_write(&rig.signer, &target, &keys, &request, ms, rig.bytes,
                                        sizeof(rig.bytes) - 1, &rig.bytes_n),
                   0);
  rig.bytes[rig.bytes_n] = '\0';
}

void s3l_fakes3_bend(const char* from, const char* to) {
  char* at = strstr(rig.bytes, from);
  size_t old = strlen(from), new = strlen(to);
  if (at == NULL)
    fail_msg("\"%s\" is not in the request", from);
  assert_true(rig.bytes_n + new < sizeof(rig.bytes));
  memmove(at + new, at + old, rig.bytes_n - (size_t)(at - rig.bytes) - old + 1);
  memcpy(at, to, new);
  rig.bytes_n += new;
  rig.bytes_n -= old;
}

int s3l_fakes3_exchange(bool head) {
  if (rig.raw.ended != 0)
    s3l_raw_close(&rig.raw);
  if (rig.raw.conn == NULL) {
    int err = s3l_raw_connect(&rig.raw);
    if (err != 0) {
      s3l_raw_close(&rig.raw);
      return err;
    }
  }
  s3l_raw_send(&rig.raw, rig.bytes, rig.bytes_n);
  int status = s3l_raw_reply(&rig.raw, head);
  if (status < 0)
    s3l_raw_close(&rig.raw);
  return status;
}

int s3l_fakes3_do(const s3l_fakes3_request_t* request) {
  s3l_fakes3_sign(request);
  return s3l_fakes3_exchange(request->op == S3L_S3_HEAD);
}

int s3l_fakes3_control(const char* method, const char* path, const char* body) {
  char text[4096];
  s3l_raw_t* raw = calloc(1, sizeof(*raw));
  assert_non_null(raw);
  int n =
      snprintf(text, sizeof(text),
               "%s %s HTTP/1.1\r\nHost: x\r\nContent-Length: %zu\r\nConnection: close\r\n\r\n%s",
               method, path, strlen(body), body);
  assert_true(n > 0 && (size_t)n < sizeof(text));
  assert_int_equal(s3l_raw_connect(raw), 0);
  s3l_raw_send(raw, text, (size_t)n);
  int status = s3l_raw_reply(raw, false);
  s3l_raw_close(raw);
  free(raw);
  return status;
}

int s3l_fakes3_fault(const char* json) {
  char why[256] = "";
  int rule = fakes3_fault(rig.server, json, why, sizeof(why));
  if (rule <= 0)
    fail_msg("%s: %s", json, why);
  return rule;
}

const fakes3_entry_t* s3l_fakes3_newest(const fakes3_t* server) {
  const fakes3_entry_t* last = NULL;
  const fakes3_entry_t* next;
  while ((next = fakes3_log_after(server, last != NULL ? last->seq : 0)) != NULL)
    last = next;
  assert_non_null(last);
  return last;
}

const fakes3_entry_t* s3l_fakes3_last(void) {
  return s3l_fakes3_newest(rig.server);
}

void s3l_said(int status, int wanted, const char* code) {
  const char* found = speaks("azure") ? s3l_raw_header("x-ms-error-code") : s3l_raw_tag("Code");
  if (status != wanted || (found != NULL) != (code != NULL) ||
      (code != NULL && strcmp(found, code) != 0))
    fail_msg("%d %s, not %d %s", status, found != NULL ? found : "", wanted,
             code != NULL ? code : "");
}

void s3l_refused(int status, int wanted, const char* code) {
  s3l_said(status, wanted, code);
  assert_int_equal(s3l_fakes3_last()->order, 0);
}
