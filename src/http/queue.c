/* http/queue.c: see queue.h. */
#include "http/queue.h"

#include "util/mutant.h"

#define SLOW_NS  (10 * INT64_C(1000000))
#define STALE_NS (500 * INT64_C(1000000))

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
  q->root = s3l_heap_node_add(q->root, &req->at.queue);
  q->len++;
  q->together += req->together;
}

void s3l_http_queue_remove(s3l_http_queue_t* q, s3l_http_req_t* req) {
  q->root = s3l_heap_node_remove(q->root, &req->at.queue);
  q->len--;
  q->together -= req->together;
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
  for (s3l_http_req_t* req; (req = s3l_http_queue_first(&rest)) != NULL;) {
    s3l_http_queue_remove(&rest, req);
    s3l_http_queue_add(q, req);
  }
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

bool s3l_http_queue_needs_more(const s3l_http_queue_t* q, const s3l_conn_pool_t* p,
                               int64_t now_ns) {
  if (q->len <= p->opening_len)
    return false;
  if (q->together > 0) /* they are no race on fewer connections: each has its own */
    return true;
  if (p->conns_len >= p->options.max_connections)
    return false;
  if (p->options.few == 0 || p->conns_len < p->options.few)
    return true;
  return p->opening_len <= p->conns_len / 4 && /* so that their number doubles in a few steps */
         now_ns - s3l_http_queue_first(q)->since_ns > SLOW_NS + p->round_trip_ns;
}
