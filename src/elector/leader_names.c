#include "elector/leader_names.h"

#include <string.h>

#include "util/mem.h"
#include "util/mutant.h"

void s3l_leader_names_init(s3l_leader_names_t* n) {
  *n = (s3l_leader_names_t){.id = "", .addr = ""};
}

void s3l_leader_names_forget(s3l_leader_names_t* n) {
  s3l_free(n->block);
  s3l_leader_names_init(n);
}

const char* s3l_leader_names_successor(const s3l_leader_names_t* n) {
  return n->block != NULL ? n->addr + strlen(n->addr) + 1 : "";
}

const char* s3l_leader_names_value(const s3l_leader_names_t* n) {
  const char* successor = s3l_leader_names_successor(n);
  return n->block != NULL ? successor + strlen(successor) + 1 : "";
}

static bool are(const s3lect_record_t* seen, const char* id, const char* addr,
                const char* successor, const char* value) {
  return strcmp(seen->leader_id, id) == 0 && strcmp(seen->leader_addr, addr) == 0 &&
         strcmp(seen->successor, successor) == 0 &&
         (strcmp(seen->value, value) == 0 || S3L_MUTANT(VALUE_STAYS));
}

/* Copies a text with its NUL to *at, and moves *at behind it. */
static const char* put(char** at, const char* text) {
  size_t size = strlen(text) + 1;
  char* copy = memcpy(*at, text, size);
  *at += size;
  return copy;
}

bool s3l_leader_names_keep(s3l_leader_names_t* n, const s3lect_record_t* seen, const char* own_id,
                           const char* own_addr) {
  if (are(seen, n->id, n->addr, s3l_leader_names_successor(n), s3l_leader_names_value(n)))
    return true;
  s3l_leader_names_forget(n);
  if (are(seen, "", "", "", ""))
    return true;
  if (are(seen, own_id, own_addr, "", "")) {
    n->id = own_id;
    n->addr = own_addr;
    return true;
  }
  n->block = s3l_malloc(strlen(seen->leader_id) + strlen(seen->leader_addr) +
                        strlen(seen->successor) + strlen(seen->value) + 4);
  if (n->block == NULL) {
    n->id = seen->leader_id;
    n->addr = seen->leader_addr;
    return false;
  }
  char* at = n->block;
  n->id = put(&at, seen->leader_id);
  n->addr = put(&at, seen->leader_addr);
  (void)put(&at, seen->successor);
  (void)put(&at, seen->value);
  return true;
}
