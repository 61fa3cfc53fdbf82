/* cli/certs.h (L8): --peer-reload: looks from time to time whether the files of peer mode's
 * certificates have changed, since whoever renews them (cert-manager, an ACME client) may be unable
 * to send a signal.
 *
 * A file has changed if its path leads to another file, or its time or size is another. While one
 * of the files is missing, it is taken to be under way, and nothing is reported. */
#ifndef S3L_CLI_CERTS_H
#define S3L_CLI_CERTS_H

#include <stdbool.h>
#include <sys/types.h>
#include <time.h>
#include <uv.h>

#define CLI_CERTS_FILES 3

/** What a file was when it was looked at. */
typedef struct cli_certs_stamp_s {
  dev_t device;
  ino_t inode;
  off_t size;
  struct timespec modified;
} cli_certs_stamp_t;

typedef struct cli_certs_s {
  const char* files[CLI_CERTS_FILES]; /* set by the owner; NULL: none */
  void* data;                         /* the owner's */
  void (*on_changed)(void* data);     /* from the loop */
  cli_certs_stamp_t stamps[CLI_CERTS_FILES];
  uv_timer_t timer;
  bool open;
} cli_certs_t;

/** Looks every `interval_ms` from now on, without keeping the loop alive. The owner has set files,
 * data and on_changed. Errors: those of uv_timer_init. */
int cli_certs_open(cli_certs_t* certs, uv_loop_t* loop, uint32_t interval_ms);

/** May be called more than once, and without open. */
void cli_certs_close(cli_certs_t* certs);

#endif
