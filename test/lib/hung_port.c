
#include "lib/test.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/hung_port.h"

void s3l_hung_port_open(s3l_hung_port_t* h, const char* ip, uint16_t port) {
  struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(port)};
  socklen_t len = sizeof(a);
  assert_int_equal(inet_pton(AF_INET, ip, &a.sin_addr), 1);
  h->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  assert_true(h->listener >= 0);
  assert_int_equal(bind(h->listener, (const struct sockaddr*)&a, len), 0);
  assert_int_equal(listen(h->listener, 0), 0);
  assert_int_equal(getsockname(h->listener, (struct sockaddr*)&a, &len), 0);
  h->port = ntohs(a.sin_port);
  for (int i = 0; i < S3L_HUNG_FILL;
       i++) { /* on loopback, a queue that has room takes them at once */
    h->fill[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    assert_true(h->fill[i] >= 0);
    (void)connect(h->fill[i], (const struct sockaddr*)&a, len);
  }
}

void s3l_hung_port_close(s3l_hung_port_t* h) {
  for (int i = 0; i < S3L_HUNG_FILL; i++)
    close(h->fill[i]);
  close(h->listener);
}
