/* election: the store and the elector; what they tell becomes the route. */
#ifndef TCP_PROXY_ELECTION_H
#define TCP_PROXY_ELECTION_H

#include <s3lect.h>

struct proxy_s;

typedef struct election_s {
  struct proxy_s* proxy;
  s3lect_store_t store;
  s3lect_elector_t elector;  /* stands */
  s3lect_elector_t observer; /* only looks on, in its place while the proxy stands aside */
  unsigned open;             /* of the two */
  char place[1024];          /* the store's bucket or directory */
} election_t;

/** Opens the store and stands; `addr` is where the other proxies reach this one. On an error, which
 * is told on stderr, election_close is due if proxy->elector_open is true. */
int election_start(election_t* election, struct proxy_s* proxy, const char* addr);
/** Gives up leadership, and goes on following the election without standing in it; and the way
 * back. Errors: UV_EBUSY (what the last change has to do is not over), to be tried again. */
int election_stand_aside(election_t* election);
int election_stand(election_t* election);
/** Gives up leadership, releases the record, closes both. */
void election_close(election_t* election);

#endif
