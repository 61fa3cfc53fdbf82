/* util/list.h: intrusive doubly linked list; the link is a member of the element.
 *
 * The head is a link, too. An unlinked link points to itself, so that removing twice is harmless
 * and s3l_list_empty tells whether an element is in a list. */
#ifndef S3L_UTIL_LIST_H
#define S3L_UTIL_LIST_H

#include <stdbool.h>
#include <stddef.h>

typedef struct s3l_list_s s3l_list_t;
struct s3l_list_s {
  s3l_list_t* next;
  s3l_list_t* prev;
};

#define S3L_CONTAINER_OF(ptr, type, member) ((type*)(void*)((char*)(ptr)-offsetof(type, member)))

static inline void s3l_list_init(s3l_list_t* l) {
  l->next = l;
  l->prev = l;
}

static inline bool s3l_list_empty(const s3l_list_t* l) {
  return l->next == l;
}

static inline void s3l_list_push_back(s3l_list_t* head, s3l_list_t* l) {
  l->next = head;
  l->prev = head->prev;
  head->prev->next = l;
  head->prev = l;
}

static inline void s3l_list_push_front(s3l_list_t* head, s3l_list_t* l) {
  s3l_list_push_back(head->next, l);
}

static inline void s3l_list_remove(s3l_list_t* l) {
  l->prev->next = l->next;
  l->next->prev = l->prev;
  s3l_list_init(l);
}

/** Moves all that is in a list into another one, which need not be initialised. */
static inline void s3l_list_move(s3l_list_t* from, s3l_list_t* to) {
  s3l_list_push_back(from, to);
  s3l_list_remove(from);
}

#endif
