#include "lib/peer_proc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/test.h"

proc_t* s3l_peerproc_elect(s3proc_t* s3, const s3l_certs_t* certs, const char* id,
                           const char* option, const char* value) {
  return s3proc_s3lect(s3, "elect", id,
                       (const char*[]){"--peer-listen", "127.0.0.1:0", "--peer-cert", certs->good,
                                       "--peer-key", certs->key, "--peer-ca", certs->ca,
                                       "--peer-client-auth", "--peer-metrics", "--peer-health",
                                       option, value, NULL});
}

const char* s3l_peerproc_fetch(s3proc_t* s3, const s3l_certs_t* certs, const char* url) {
  static char text[262144];
  text[0] = '\0';
  proc_t* curl = proc_spawn(&s3->procs,
                            (const char*[]){"curl", "-s", "--cacert", certs->ca, "--cert",
                                            certs->good, "--key", certs->key, url, NULL},
                            NULL);
  for (const char* line; (line = proc_try_line(curl, PROC_OUT, "", false)) != NULL;) {
    size_t n = strlen(text);
    snprintf(text + n, sizeof text - n, "%s\n", line);
  }
  (void)proc_wait(curl);
  proc_forget(curl);
  return text;
}

static bool begins_with(const char* text, const char* start) {
  return strncmp(text, start, strlen(start)) == 0;
}

s3l_requests_t s3l_peerproc_requests(s3proc_t* s3, const s3l_certs_t* certs, unsigned long* since) {
  static const char member[] = "\"method\":\"";
  char url[256];
  s3l_requests_t n = {0};
  snprintf(url, sizeof url, "%s/_fakes3/log?since=%lu", s3->url, *since);
  const char* at = s3l_peerproc_fetch(s3, certs, url);
  while ((at = strstr(at, "\"seq\":")) != NULL) {
    *since = strtoul(at + strlen("\"seq\":"), NULL, 10);
    at = strstr(at, member);
    assert_non_null(at);
    at += strlen(member);
    n.all++;
    n.gets += begins_with(at, "GET\"");
    n.puts += begins_with(at, "PUT\"");
    n.lists += begins_with(at, "LIST\"");
  }
  return n;
}

void s3l_peerproc_settle(s3proc_t* s3, const s3l_certs_t* certs, proc_t* p[3]) {
  p[0] = s3l_peerproc_elect(s3, certs, "a", NULL, NULL);
  proc_line(p[0], PROC_OUT, S3L_STARTED);
  p[1] = s3l_peerproc_elect(s3, certs, "b", NULL, NULL);
  p[2] = s3l_peerproc_elect(s3, certs, "c", NULL, NULL);
  proc_line(p[1], PROC_OUT, S3L_NEW);
  proc_line(p[2], PROC_OUT, S3L_NEW);
  unsigned long since = 0;
  unsigned reads = 1;
  for (int i = 0; i < 100 && reads > 0; i++) {
    (void)s3l_peerproc_requests(s3, certs, &since);
    for (int k = 0; k < 4; k++)
      proc_line(p[0], PROC_OUT, S3L_RENEWED);
    reads = s3l_peerproc_requests(s3, certs, &since).gets;
  }
  assert_int_equal(reads, 0);
}
