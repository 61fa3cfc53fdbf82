/* pass: passes the bytes of one connection on, both ways.
 *
 *   up     from the client to the backend (or to the leader's proxy)
 *   down   back
 *
 * Each way holds one block of bytes at most (buffer.h), or one tube (tube.h), and reads no more
 * before that is passed on: a slow reader slows its sender down, through this process as through a
 * direct connection. The end of one way (a FIN) is passed on like a byte, behind all bytes, and
 * leaves the other way open. */
#ifndef TCP_PROXY_PASS_H
#define TCP_PROXY_PASS_H

#include <stdbool.h>
#include <stdint.h>

#include "buffer.h"
#include "end.h"
#include "tube.h"

struct proxy_s;

typedef enum {
  PASS_FINISHED,  /* both ways have ended, in good order */
  PASS_BROKEN,    /* one side broke it off */
  PASS_FENCED,    /* this process no longer leads: found out before a write to the backend */
  PASS_FROM_PEER, /* what the client says is another proxy's header */
  PASS_NO_MEMORY,
} pass_end_t;

typedef struct pass_s pass_t;
/** Runs once; nothing is watched any more then, unless it is PASS_FENCED: pass_drain may follow. */
typedef void (*pass_cb)(pass_t* pass, pass_end_t why);

typedef struct way_s {
  end_t *from, *to;
  buffer_t* rest; /* read, and not yet passed on */
  tube_t* tube;   /* the same, in a pipe */
  bool much;      /* there is much to say: by tubes */
  uint64_t* count;
  bool ended;  /* `from` has said its last byte */
  bool shut;   /* and `to` has been told */
  bool closed; /* this way is not served any more */
} way_t;

struct pass_s {
  struct proxy_s* proxy;
  pass_cb cb;
  way_t up, down;
  bool leading; /* `up` leads to a backend: only while this process leads, in this epoch */
  bool inspect; /* the first bytes of the client may still become another proxy's header */
  bool failed;  /* one side has, and what it had said before is not passed on yet */
  bool over;
  uint8_t* first; /* a copy of these, as far as they are looked at */
  size_t first_len;
  uint64_t epoch;
  uint64_t moved; /* bytes, both ways */
};

/** Begins. `head` goes up first; its HEADER_MAX bytes then serve to look at what the client says.
 * Where that is another proxy's header, in however many pieces, the last of them is not passed on.
 */
void pass_start(pass_t* pass, struct proxy_s* proxy, end_t* client, end_t* upstream, uint8_t* head,
                size_t head_len, pass_cb cb);
/** From here on nothing goes up, not even the end; what comes down still does. */
void pass_drain(pass_t* pass);
/** Gives the blocks back, and watches nothing any more. */
void pass_stop(pass_t* pass);

#endif
