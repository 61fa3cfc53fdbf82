#include "elector/leader_names.h"

#include <string.h>

#include "util/mem.h"

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

static bool are(const s3lect_record_t* seen, const char* id, const char* addr,
                const char* successor) {
  return strcmp(seen->leader_id, id) == 0 && strcmp(seen->leader_addr, addr) == 0 &&
         strcmp(seen->successor, successor) == 0;
}

bool s3l_leader_names_keep(s3l_leader_names_t* n, const s3lect_record_t* seen, const char* own_id,
                           const char* own_addr) {
  if (are(seen, n->id, n->addr, s3l_leader_names_successor(n)))
    return true;
  s3l_leader_names_forget(n);
  if (are(seen, "", "", ""))
    return true;
  if (are(seen, own_id, own_addr, "")) {
    n->id = own_id;
    n->addr = own_addr;
    return true;
  }
  size_t id_size = strlen(seen->leader_id) + 1;
  size_t addr_size = strlen(seen->leader_addr) + 1;
  size_t successor_size = strlen(seen->successor) + 1;
  n->block = s3l_malloc(id_size + addr_size + successor_size);
  if (n->block == NULL) {
    n->id = seen->leader_id;
    n->addr = seen->leader_addr;
    return false;
  }
  n->id = memcpy(n->block, seen->leader_id, id_size);
  n->addr = memcpy(n->block + id_size, seen->leader_addr, addr_size);
  memcpy(n->block + id_size + addr_size, seen->successor, successor_size);
  return true;
}
