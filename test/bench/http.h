/* bench/http.h: a client as the HTTP benchmark sees it. */
#ifndef S3L_BENCH_HTTP_H
#define S3L_BENCH_HTTP_H

#include "bench/bench.h"
#include "http/client.h"

typedef struct bench_client_s bench_client_t;
struct bench_client_s {
  const char* name;
  void (*start)(bench_client_t* client); /* one request; ends by pending = false, from the loop */
  void (*close)(bench_client_t* client); /* everything it has in the loop */
  bool pending;
};

typedef enum {
  BENCH_CURL_UNSIGNED,
  BENCH_CURL_SIGNS, /* CURLOPT_AWS_SIGV4 */
  BENCH_CURL_SIGNED /* by this library's signer, for each request */
} bench_curl_t;

/** What clients write: a lockfile that ends with the number of writes. Returns its length. */
#define BENCH_RECORD_MAX 512
size_t bench_record(char buf[BENCH_RECORD_MAX], unsigned writes);

/** Whether a reply's body is as long as such a lockfile: to compare it would count, too. */
bool bench_is_record(size_t len);

/** libcurl's multi interface on the loop. `ca_file` NULL: plain HTTP. `put`: conditional puts of a
 * key of its own, else gets of BENCH_KEY. NULL, after saying so, where libcurl is not built in. */
bench_client_t* bench_curl_open(uv_loop_t* loop, const bench_server_t* server, const char* ca_file,
                                bench_curl_t kind, bool put);

#endif
