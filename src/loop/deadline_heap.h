/* loop/deadline_heap.h: a pairing heap of times, linked through nodes in their owners: deadlines of
 * the runtime, requests that wait for a connection. */
#ifndef S3L_DEADLINE_HEAP_H
#define S3L_DEADLINE_HEAP_H

#include <stdbool.h>
#include <stdint.h>

typedef struct s3l_heap_node_s s3l_heap_node_t;
typedef struct s3l_deadline_s s3l_deadline_t;

struct s3l_heap_node_s {
  s3l_heap_node_t* child; /* the first one */
  s3l_heap_node_t* next;  /* sibling */
  s3l_heap_node_t* prev;  /* sibling; of a first child, the parent */
  int64_t at_ns;          /* lease time; the owner's, and constant while the node is in a heap */
};

struct s3l_deadline_s {
  s3l_heap_node_t node; /* at_ns: when it runs; for the owner to read while it is set */
  bool set;

  /* The runtime's. */
  bool background; /* does not keep the loop alive */
  bool far;        /* it was set in a slot of time (loop.h), whose time may have come since */
  void (*cb)(s3l_deadline_t* deadline);
};

/** Makes one heap of two, and returns its root. Either root may be NULL. */
s3l_heap_node_t* s3l_heap_meld(s3l_heap_node_t* a, s3l_heap_node_t* b);

/** Adds a node whose `at_ns` is set. Returns the new root: the earliest. */
s3l_heap_node_t* s3l_heap_node_add(s3l_heap_node_t* root, s3l_heap_node_t* node);

/** Removes a node that is in the heap. Returns the new root, or NULL. */
s3l_heap_node_t* s3l_heap_node_remove(s3l_heap_node_t* root, s3l_heap_node_t* node);

#endif
