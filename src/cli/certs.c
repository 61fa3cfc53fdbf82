#include "certs.h"

#include <string.h>
#include <sys/stat.h>

/* Looks at all files. False if one of them is missing. The files are local and the look is a system
 * call each, so the loop is not held up. */
static bool look(const cli_certs_t* certs, cli_certs_stamp_t stamps[CLI_CERTS_FILES]) {
  memset(stamps, 0, CLI_CERTS_FILES * sizeof stamps[0]); /* the padding, too: they are compared */
  for (int i = 0; i < CLI_CERTS_FILES; i++) {
    struct stat st;
    if (certs->files[i] == NULL)
      continue;
    if (stat(certs->files[i], &st) != 0)
      return false;
    stamps[i].device = st.st_dev;
    stamps[i].inode = st.st_ino;
    stamps[i].size = st.st_size;
    stamps[i].modified = st.st_mtim;
  }
  return true;
}

static void on_timer(uv_timer_t* timer) {
  cli_certs_t* certs = timer->data;
  cli_certs_stamp_t now[CLI_CERTS_FILES];
  if (!look(certs, now) || memcmp(now, certs->stamps, sizeof now) == 0)
    return;
  /* What changes after this look is seen by the next one. */
  memcpy(certs->stamps, now, sizeof now);
  certs->on_changed(certs->data);
}

int cli_certs_open(cli_certs_t* certs, uv_loop_t* loop, uint32_t interval_ms) {
  int r = uv_timer_init(loop, &certs->timer);
  if (r != 0)
    return r;
  certs->open = true;
  certs->timer.data = certs;
  (void)look(certs, certs->stamps);
  uv_unref((uv_handle_t*)&certs->timer);
  return uv_timer_start(&certs->timer, on_timer, interval_ms, interval_ms);
}

void cli_certs_close(cli_certs_t* certs) {
  if (certs->open)
    uv_close((uv_handle_t*)&certs->timer, NULL);
  certs->open = false;
}
