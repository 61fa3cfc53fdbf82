/* s3lect-health [PORT]: asks the s3lect that serves --http PORT (8080) in the same container
 * whether it is alive, for HEALTHCHECK in an image without a shell. Exit 0: /livez answers with
 * 200; 1: it does not. The engine limits the time. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static const char request[] = "GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";

static int fail(const char* what) {
  perror(what);
  return EXIT_FAILURE;
}

int main(int argc, char** argv) {
  char reply[64] = "";
  size_t len = 0;
  ssize_t got = 0;
  long port = argc > 1 ? strtol(argv[1], NULL, 10) : 8080;
  struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((in_port_t)port)};
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  int fd = socket(AF_INET, SOCK_STREAM, 0);
  if (fd < 0 || connect(fd, (struct sockaddr*)&to, sizeof to) != 0)
    return fail("s3lect-health: connect");
  if (write(fd, request, sizeof request - 1) != (ssize_t)sizeof request - 1)
    return fail("s3lect-health: write");
  while (len < sizeof reply - 1 && (got = read(fd, reply + len, sizeof reply - 1 - len)) > 0)
    len += (size_t)got;
  (void)close(fd);
  if (got < 0)
    return fail("s3lect-health: read");
  if (strncmp(reply, "HTTP/1.1 200 ", 13) == 0)
    return EXIT_SUCCESS;
  reply[strcspn(reply, "\r\n")] = '\0';
  fprintf(stderr, "s3lect-health: port %ld answers: %s\n", port, reply);
  return EXIT_FAILURE;
}
