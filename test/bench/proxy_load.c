/* s3lect-proxy-load: client and server of the connections that test/bench/tcp-proxy.sh measures.
 *
 *   s3lect-proxy-load serve                        listens on loopback and prints its port
 *   s3lect-proxy-load measure ROUNDS NAME=PORT...
 *
 * A request is two numbers, the bytes that follow it and the bytes that the server shall send, and
 * then the bytes. `measure` sends requests over one connection to each port, in turn, ROUNDS times,
 * so that other load of the machine affects all alike. It prints the median of a small round trip
 * (64 bytes each way), the rate of 1 MiB transfers down and up by the median of their times, the
 * rate of CROWD connections at once, and the ratio of each to the first port. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define SMALL       64
#define LARGE       (1024 * 1024)
#define PORTS_MAX   8
#define SMALL_TIMES 100
#define LARGE_TIMES 10
#define BLOCK       (256 * 1024)
#define CROWD       8
#define CROWD_TIMES 10 /* transfers down, of each */

typedef struct request_s {
  uint64_t up, down;
} request_t;

static void die(const char* what) {
  perror(what);
  exit(1);
}

static int send_bytes(int fd, const void* bytes, size_t len) {
  for (size_t sent = 0; sent < len;) {
    ssize_t n = send(fd, (const char*)bytes + sent, len - sent, MSG_NOSIGNAL);
    if (n <= 0)
      return -1;
    sent += (size_t)n;
  }
  return 0;
}

static int read_bytes(int fd, void* bytes, size_t len) {
  for (size_t got = 0; got < len;) {
    ssize_t n = recv(fd, (char*)bytes + got, len - got, 0);
    if (n <= 0)
      return -1;
    got += (size_t)n;
  }
  return 0;
}

/* Receive, and send, bytes without meaning, by one block. */
static int discard(int fd, char* block, uint64_t len) {
  while (len > 0) {
    ssize_t n = recv(fd, block, len < BLOCK ? len : BLOCK, 0);
    if (n <= 0)
      return -1;
    len -= (uint64_t)n;
  }
  return 0;
}

static int produce(int fd, const char* block, uint64_t len) {
  for (uint64_t n; len > 0; len -= n) {
    n = len < BLOCK ? len : BLOCK;
    if (send_bytes(fd, block, (size_t)n) != 0)
      return -1;
  }
  return 0;
}

static void no_delay(int fd) {
  int on = 1;
  (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

/* ---- The server ---- */

static void* serve_one(void* arg) {
  int fd = (int)(intptr_t)arg;
  char* block = calloc(1, BLOCK);
  request_t request;
  if (block == NULL)
    die("calloc");
  while (read_bytes(fd, &request, sizeof request) == 0 && discard(fd, block, request.up) == 0 &&
         produce(fd, block, request.down) == 0)
    ;
  free(block);
  close(fd);
  return NULL;
}

_Noreturn static void serve(void) {
  struct sockaddr_in addr = {.sin_family = AF_INET};
  socklen_t len = sizeof addr;
  addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (listener < 0 || bind(listener, (struct sockaddr*)&addr, sizeof addr) != 0 ||
      listen(listener, 64) != 0 || getsockname(listener, (struct sockaddr*)&addr, &len) != 0)
    die("listen");
  printf("%d\n", ntohs(addr.sin_port));
  fflush(stdout);
  for (;;) {
    pthread_t thread;
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    if (fd < 0)
      die("accept");
    no_delay(fd);
    if (pthread_create(&thread, NULL, serve_one, (void*)(intptr_t)fd) != 0)
      die("thread");
    pthread_detach(thread);
  }
}

/* ---- The client ---- */

typedef struct samples_s {
  size_t len, cap;
  double* us;
} samples_t;

typedef struct way_s {
  const char* name;
  int fd;
  samples_t small, down, up, crowd;
  int crowd_fds[CROWD];
} way_t;

static double now_us(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static void add_sample(samples_t* samples, double us) {
  if (samples->len == samples->cap) {
    samples->cap = samples->cap == 0 ? 1024 : samples->cap * 2;
    samples->us = realloc(samples->us, samples->cap * sizeof(double));
    if (samples->us == NULL)
      die("realloc");
  }
  samples->us[samples->len++] = us;
}

static void exchange(way_t* way, samples_t* samples, uint64_t up, uint64_t down) {
  static char block[BLOCK];
  request_t request = {up, down};
  double begin = now_us();
  if (up <= SMALL) { /* in one packet, as clients do */
    char head[sizeof request + SMALL] = {0};
    memcpy(head, &request, sizeof request);
    if (send_bytes(way->fd, head, sizeof request + up) != 0)
      die(way->name);
  } else if (send_bytes(way->fd, &request, sizeof request) != 0 ||
             produce(way->fd, block, up) != 0) {
    die(way->name);
  }
  if (discard(way->fd, block, down) != 0)
    die(way->name);
  add_sample(samples, now_us() - begin);
}

static void* download(void* arg) {
  int fd = (int)(intptr_t)arg;
  char* block = malloc(BLOCK);
  request_t request = {0, LARGE};
  if (block == NULL)
    die("malloc");
  for (int k = 0; k < CROWD_TIMES; k++)
    if (send_bytes(fd, &request, sizeof request) != 0 || discard(fd, block, LARGE) != 0)
      die("transfer");
  free(block);
  return NULL;
}

/* One sample: the time per transfer. */
static void crowd(way_t* way) {
  pthread_t threads[CROWD];
  double begin = now_us();
  for (int i = 0; i < CROWD; i++)
    if (pthread_create(&threads[i], NULL, download, (void*)(intptr_t)way->crowd_fds[i]) != 0)
      die("thread");
  for (int i = 0; i < CROWD; i++)
    pthread_join(threads[i], NULL);
  add_sample(&way->crowd, (now_us() - begin) / (CROWD * CROWD_TIMES));
}

static int by_size(const void* a, const void* b) {
  double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

static double median(samples_t* samples) {
  qsort(samples->us, samples->len, sizeof(double), by_size);
  return samples->us[samples->len / 2];
}

static int connect_to(const char* name, const struct sockaddr_in* addr) {
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0 || connect(fd, (const struct sockaddr*)addr, sizeof *addr) != 0)
    die(name);
  no_delay(fd);
  return fd;
}

static void open_way(way_t* way, char* text) {
  char* equals = strchr(text, '=');
  struct sockaddr_in addr = {.sin_family = AF_INET};
  if (equals == NULL) {
    fprintf(stderr, "%s: write NAME=PORT\n", text);
    exit(2);
  }
  *equals = '\0';
  way->name = text;
  addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  addr.sin_port = htons((uint16_t)strtoul(equals + 1, NULL, 10));
  way->fd = connect_to(way->name, &addr);
  for (int i = 0; i < CROWD; i++)
    way->crowd_fds[i] = connect_to(way->name, &addr);
}

static void print_rate(double us, double first_us) {
  printf(" %6.0f MiB/s %3.0f %%", 1e6 / us, 100 * first_us / us);
}

static void print_ways(way_t* ways, int len) {
  double small0 = median(&ways[0].small), down0 = median(&ways[0].down), up0 = median(&ways[0].up),
         crowd0 = median(&ways[0].crowd);
  printf("%-16s %13s %8s %18s %18s %12s %d at once\n", "", "64 B, round", "added", "1 MiB down",
         "1 MiB up", "down,", CROWD);
  for (int i = 0; i < len; i++) {
    double small = median(&ways[i].small);
    printf("%-16s %10.1f us %5.1f us", ways[i].name, small, small - small0);
    print_rate(median(&ways[i].down), down0);
    print_rate(median(&ways[i].up), up0);
    print_rate(median(&ways[i].crowd), crowd0);
    printf("\n");
  }
}

static int measure(int argc, char** argv) {
  static way_t ways[PORTS_MAX];
  int len = argc - 3;
  unsigned long rounds = strtoul(argv[2], NULL, 10);
  if (len < 1 || len > PORTS_MAX || rounds == 0)
    return 2;
  for (int i = 0; i < len; i++)
    open_way(&ways[i], argv[3 + i]);
  for (unsigned long round = 0; round < rounds; round++) {
    for (int i = 0; i < len; i++) {
      for (int k = 0; k < SMALL_TIMES; k++)
        exchange(&ways[i], &ways[i].small, SMALL, SMALL);
      for (int k = 0; k < LARGE_TIMES; k++)
        exchange(&ways[i], &ways[i].down, 0, LARGE);
      for (int k = 0; k < LARGE_TIMES; k++)
        exchange(&ways[i], &ways[i].up, LARGE, 1);
      crowd(&ways[i]);
    }
  }
  print_ways(ways, len);
  for (int i = 0; i < len; i++) {
    close(ways[i].fd);
    for (int k = 0; k < CROWD; k++)
      close(ways[i].crowd_fds[k]);
    free(ways[i].small.us);
    free(ways[i].down.us);
    free(ways[i].up.us);
    free(ways[i].crowd.us);
  }
  return 0;
}

int main(int argc, char** argv) {
  if (argc == 2 && strcmp(argv[1], "serve") == 0)
    serve();
  if (argc > 3 && strcmp(argv[1], "measure") == 0)
    return measure(argc, argv);
  fprintf(stderr, "usage: s3lect-proxy-load serve | measure ROUNDS NAME=PORT...\n");
  return 2;
}
