#include "store/s3/credential_queue.h"

#include <stdio.h>

#include "s3lect/errno.h"

#define NS_PER_MS 1000000u

static void on_wait(s3l_creds_wait_t* wait, int status);

void s3l_credential_queue_init(s3l_credential_queue_t* g, uv_loop_t* loop,
                               s3l_creds_provider_t* creds, s3l_credential_queue_cb pass) {
  g->loop = loop;
  g->creds = creds;
  g->pass = pass;
  g->wait.cb = on_wait;
  g->has_deadlines = false;
  s3l_list_init(&g->wait.link);
  s3l_list_init(&g->waiting);
}

static void pass(s3l_credential_queue_req_t* req, int status, const char* message) {
  s3l_credential_queue_t* g = req->queue;
  uint64_t now = uv_hrtime();
  uint64_t at = (uint64_t)req->deadline.at_ns;
  uint64_t left_ms = at > now ? (at - now + NS_PER_MS - 1) / NS_PER_MS : 1;
  s3l_deadlines_clear(&g->deadlines, &req->deadline);
  s3l_list_remove(&req->link);
  req->queue = NULL;
  if (s3l_list_empty(&g->waiting))
    s3l_deadlines_ref(&g->deadlines, false);
  g->pass(req, status, (uint32_t)left_ms, message);
}

static void on_deadline(s3l_deadline_t* deadline) {
  s3l_credential_queue_req_t* req =
      S3L_CONTAINER_OF(deadline, s3l_credential_queue_req_t, deadline);
  char text[64];
  if (req->cancelled) {
    pass(req, UV_ECANCELED, NULL);
    return;
  }
  (void)snprintf(text, sizeof(text), "no credentials within %u ms", (unsigned)req->timeout_ms);
  pass(req, UV_ETIMEDOUT, text);
}

/* Those that are in the list now; who comes back in a callback waits for the next round. */
static void pass_all(s3l_credential_queue_t* g, int status, const char* message) {
  s3l_list_t now;
  s3l_list_init(&now);
  while (!s3l_list_empty(&g->waiting)) {
    s3l_list_t* l = g->waiting.next;
    s3l_list_remove(l);
    s3l_list_push_back(&now, l);
  }
  while (!s3l_list_empty(&now)) {
    s3l_credential_queue_req_t* req = S3L_CONTAINER_OF(now.next, s3l_credential_queue_req_t, link);
    pass(req, req->cancelled ? UV_ECANCELED : status, req->cancelled ? NULL : message);
  }
}

static void on_wait(s3l_creds_wait_t* wait, int status) {
  s3l_credential_queue_t* g = S3L_CONTAINER_OF(wait, s3l_credential_queue_t, wait);
  char text[1024]; /* the provider may be asked again while its text is still needed */
  const char* why = status != 0 ? g->creds->ops->why(g->creds) : "";
  (void)snprintf(text, sizeof(text), "%s", why);
  if (status != 0 && status != UV_ENOMEM && status != UV_ECANCELED)
    status = S3LECT_ECREDENTIALS;
  pass_all(g, status, text[0] != '\0' ? text : NULL);
}

bool s3l_credential_queue_wait(s3l_credential_queue_t* g, s3l_credential_queue_req_t* req,
                               uint32_t timeout_ms) {
  if (g->creds->ops->get(g->creds, NULL) != NULL)
    return false;
  bool asked = !s3l_list_empty(&g->wait.link);
  if (!asked && g->creds->ops->get(g->creds, &g->wait) != NULL)
    return false;
  if (!g->has_deadlines)
    (void)s3l_deadlines_init(&g->deadlines, g->loop); /* cannot fail */
  g->has_deadlines = true;
  req->queue = g;
  req->timeout_ms = timeout_ms;
  req->cancelled = false;
  s3l_deadline_init(&req->deadline, on_deadline);
  s3l_deadlines_set(&g->deadlines, &req->deadline, s3l_deadline_in(timeout_ms));
  s3l_deadlines_ref(&g->deadlines, true);
  s3l_list_push_back(&g->waiting, &req->link);
  return true;
}

void s3l_credential_queue_cancel(s3l_credential_queue_req_t* req) {
  if (req->queue == NULL)
    return;
  req->cancelled = true;
  s3l_deadlines_set(&req->queue->deadlines, &req->deadline, 0);
}

static void on_deadlines_closed(s3l_deadlines_t* deadlines) {
  s3l_credential_queue_t* g = S3L_CONTAINER_OF(deadlines, s3l_credential_queue_t, deadlines);
  g->close_cb(g->close_arg);
}

void s3l_credential_queue_close(s3l_credential_queue_t* g, void (*cb)(void* arg), void* arg) {
  g->close_cb = cb;
  g->close_arg = arg;
  s3l_creds_wait_end(&g->wait);
  pass_all(g, UV_ECANCELED, NULL);
  if (g->has_deadlines)
    s3l_deadlines_close(&g->deadlines, on_deadlines_closed);
  else
    cb(arg);
}
