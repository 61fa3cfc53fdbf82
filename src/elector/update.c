#include "elector/update.h"

#include <string.h>

#include "core/record.h"
#include "elector/options.h"
#include "util/list.h"
#include "util/mem.h"

int s3l_update_make(const s3lect_elector_options_t* o, const s3l_core_config_t* now,
                    s3l_update_t** out) {
  size_t addr_size = strlen(o->server_addr) + 1;
  size_t body_size = s3l_record_encode_max(now->id, o->server_addr, "") + S3L_RECORD_FILE_MORE;
  s3l_update_t* u = s3l_calloc(1, sizeof *u + addr_size + body_size);
  if (u == NULL)
    return UV_ENOMEM;
  memcpy(u->text, o->server_addr, addr_size);
  u->config = s3l_elector_options_core(o, now->id, u->text);
  u->config.epochs = now->epochs;
  u->body = u->text + addr_size;
  u->body_size = (uint16_t)body_size;
  *out = u;
  return 0;
}

void s3l_update_apply(s3l_update_t* u, s3l_core_t* core, s3l_ns_t now, s3l_leader_names_t* names) {
  if (names->block == NULL) { /* the elector's own names, or none */
    memcpy(u->shown, names->addr, strlen(names->addr) + 1);
    names->addr = u->shown;
  }
  s3l_core_reconfigure(core, now, &u->config);
}

void s3l_update_free(const char* addr) {
  s3l_free((char*)(uintptr_t)addr - offsetof(s3l_update_t, text));
}
