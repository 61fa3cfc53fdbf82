/* loop/deadline_heap.h: a pairing heap of deadlines, linked through the deadlines themselves.
 * Private to src/loop, but for the struct. */
#ifndef S3L_DEADLINE_HEAP_H
#define S3L_DEADLINE_HEAP_H

#include <stdbool.h>
#include <stdint.h>

typedef struct s3l_deadline_s s3l_deadline_t;

struct s3l_deadline_s {
  /* For the owner to read. */
  int64_t at_ns; /* when it runs, in lease time; while it is set */
  bool set;

  /* The runtime's. */
  bool background; /* does not keep the loop alive */
  void (*cb)(s3l_deadline_t* deadline);
  s3l_deadline_t* child; /* the first one */
  s3l_deadline_t* next;  /* sibling */
  s3l_deadline_t* prev;  /* sibling; of a first child, the parent */
};

/** Adds a deadline whose `at_ns` stands. Returns the new root: the earliest. */
s3l_deadline_t* s3l_deadline_heap_add(s3l_deadline_t* root, s3l_deadline_t* d);

/** Removes a deadline that is in the heap. Returns the new root, or NULL. */
s3l_deadline_t* s3l_deadline_heap_remove(s3l_deadline_t* root, s3l_deadline_t* d);

#endif
