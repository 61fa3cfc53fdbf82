/* http/queue.c: see queue.h. */
#include "http/queue.h"

#include "util/mutant.h"

#define SLOW_NS       (10 * INT64_C(1000000))
#define STALE_NS      (500 * INT64_C(1000000))
#define GROW_AGAIN_NS INT64_C(1000000000)
#define LOOK_MAX      64 /* requests that a search passes over, so that its time is bounded */

static s3l_http_req_t* req_of(s3l_heap_node_t* node) {
  return S3L_CONTAINER_OF(node, s3l_http_req_t, at.queue);
}

s3l_http_req_t* s3l_http_queue_first(const s3l_http_queue_t* q) {
  return q->root != NULL ? req_of(q->root) : NULL;
}

void s3l_http_queue_add(s3l_http_queue_t* q, s3l_http_req_t* req) {
  req->at.queue.at_ns = req->due_ns != 0 ? req->due_ns : req->until_ns;
  if (S3L_MUTANT(FIRST_IN_FIRST_OUT))
    req->at.queue.at_ns = req->since_ns;
  if (S3L_MUTANT(READS_FIRST) && !req->replayable)
    req->at.queue.at_ns = S3L_CLOCK_NEVER;
  q->root = s3l_heap_node_add(q->root, &req->at.queue);
  q->len++;
  q->together += req->together;
}

void s3l_http_queue_remove(s3l_http_queue_t* q, s3l_http_req_t* req) {
  q->root = s3l_heap_node_remove(q->root, &req->at.queue);
  q->len--;
  q->together -= req->together;
}

bool s3l_http_queue_wants_fresh(const s3l_conn_pool_t* p, const s3l_http_req_t* req) {
  return req->replayed || (p->require_fresh && !req->replayable);
}

static void move_all(s3l_http_queue_t* from, s3l_http_queue_t* to) {
  for (s3l_http_req_t* req; (req = s3l_http_queue_first(from)) != NULL;) {
    s3l_http_queue_remove(from, req);
    s3l_http_queue_add(to, req);
  }
}

s3l_http_req_t* s3l_http_queue_first_for_used(s3l_http_queue_t* q, const s3l_conn_pool_t* p) {
  s3l_http_queue_t passed = {0};
  s3l_http_req_t* req;
  while ((req = s3l_http_queue_first(q)) != NULL && s3l_http_queue_wants_fresh(p, req)) {
    if (passed.len == LOOK_MAX) {
      req = NULL;
      break;
    }
    s3l_http_queue_remove(q, req);
    s3l_http_queue_add(&passed, req);
  }
  move_all(&passed, q);
  return req;
}

void s3l_http_queue_take(s3l_http_queue_t* q, int64_t since_ns, size_t most, s3l_list_t* list) {
  s3l_http_queue_t rest = {0};
  for (s3l_http_req_t* req; most > 0 && (req = s3l_http_queue_first(q)) != NULL;) {
    s3l_http_queue_remove(q, req);
    if (req->since_ns <= since_ns) {
      s3l_list_push_back(list, &req->at.list);
      most--;
    } else {
      s3l_http_queue_add(&rest, req);
    }
  }
  move_all(&rest, q);
}

/* A lease counts from the submission of its renewal. */
static bool is_stale(const s3l_http_req_t* req, int64_t now_ns) {
  return req->due_ns != 0 && now_ns - req->since_ns > STALE_NS &&
         (req->due_ns > now_ns || req->until_ns - now_ns > STALE_NS);
}

/* The round trip is the shortest of late, and a quarter more. The last request of the queue is
 * always sent: it is in nobody's way, and shows how long a reply takes now. */
bool s3l_http_queue_is_hopeless(const s3l_http_queue_t* q, const s3l_conn_pool_t* p,
                                const s3l_http_req_t* req, int64_t now_ns) {
  bool crowded = p->options.few != 0 && q->len > 1;
  int64_t needed_ns = crowded ? p->round_trip_ns + p->round_trip_ns / 4 : 0;
  return req->until_ns - now_ns <= needed_ns || (crowded && is_stale(req, now_ns));
}

int64_t s3l_http_queue_opens_at(const s3l_http_queue_t* q, const s3l_conn_pool_t* p) {
  if (q->together > p->opening_len) /* they are no race on fewer connections: each has its own */
    return 0;
  if (q->len <= p->opening_len || p->conns_len >= p->options.max_connections)
    return S3L_CLOCK_NEVER;
  if (p->conns_len < p->options.few || p->options.few == 0)
    return 0;
  if (p->opening_len > p->conns_len / 4) /* so that their number doubles in a few steps */
    return S3L_CLOCK_NEVER;
  int64_t slow_ns = s3l_http_queue_first(q)->since_ns + SLOW_NS + p->round_trip_ns;
  return slow_ns > q->grow_ns ? slow_ns : q->grow_ns;
}

size_t s3l_http_queue_open_failed(s3l_http_queue_t* q, const s3l_conn_pool_t* p, int64_t since_ns) {
  if (p->conns_len == 0)
    return SIZE_MAX;
  if (p->options.few == 0 || p->conns_len < p->options.few || q->len == 0 || q->together > 0 ||
      s3l_http_queue_wants_fresh(p, s3l_http_queue_first(q)))
    return 1;
  q->grow_ns = since_ns + GROW_AGAIN_NS;
  return 0;
}
