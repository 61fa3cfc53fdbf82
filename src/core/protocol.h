/* core/protocol.h: what differs between the two protocols of an election.
 *
 * The election asks its questions of this table and never which protocol it runs. `lockfile.c` has
 * one object, replaced by compare-and-swap; `epoch_files.c` has one object per leadership. */
#ifndef S3L_CORE_PROTOCOL_H
#define S3L_CORE_PROTOCOL_H

#include "core/state.h"

typedef enum {
  S3L_READ_FAILED = 0, /* the reply shows nothing */
  S3L_READ_COMPLETE,   /* the observation is up to date */
  S3L_READ_GOES_ON,    /* with another request, at once */
} s3l_read_end_t;

/** What a protocol is informed of, so that it can keep its own state. */
typedef enum {
  S3L_INFORM_START = 0, /* standing begins: nothing has been observed */
  S3L_INFORM_READ,      /* the observation has changed by a read */
  S3L_INFORM_WRITTEN,   /* ... by a write of this elector, whose operation is `op` */
  S3L_INFORM_ANSWERED,  /* ... by what its leader answered */
  S3L_INFORM_VALID,     /* the leader, authenticated, has said that it leads */
  S3L_INFORM_LEADING,   /* this elector begins to lead */
} s3l_inform_t;

struct s3l_protocol_s {
  uint64_t epoch_max;        /* at this epoch nobody takes over: there is no next one */
  const char* epoch_max_why; /* message of S3LECT_EEPOCH; NULL: what the code says */
  uint32_t renewal_requests; /* how many requests a renewal takes, one after the other */
  bool listed; /* objects below a prefix, found by listing it; else one object, at its key */
  /* A take-over is a compare-and-swap on the observed record: where the store's clock or the leader
   * says that the record's time is over, it may be replaced without observing it to the end. */
  bool swaps;
  bool anonymous_release; /* a release without an incarnation is believed */
  bool grants; /* a candidate's claim may be written in place of a release (core/grant.h) */

  size_t (*encode)(const s3lect_record_t* record, char* buf, size_t cap);

  /** Sends the next request of a read. */
  void (*send_read)(s3l_core_t* c, s3l_effects_t* fx);
  /** Takes in the end of a read's request. */
  s3l_read_end_t (*read_done)(s3l_core_t* c, s3l_effects_t* fx, const s3l_op_t* op,
                              const s3l_event_t* done);
  /** When the protocol itself needs a read: to go on with one, before a take-over at `takeover_at`
   * (S3L_NEVER: none is wanted), or before a renewal counts. S3L_NEVER: it needs none. */
  s3l_ns_t (*read_at)(const s3l_core_t* c, s3l_ns_t takeover_at);
  /** When the observation, which has just changed, may be replaced. */
  s3l_ns_t (*takeover_at)(const s3l_core_t* c);
  /** Whether a claim that is written over the observation is a provisional one. */
  bool (*is_provisional)(const s3l_core_t* c);
  /** Whether the elector's own record, which is observed and was sent then, may have lost the
   * record that it was written over. */
  bool (*is_orphaned)(const s3l_core_t* c, const s3l_sent_t* sent);
  /** Whether what the elector's own record was written over is known to have stood. */
  bool (*may_lead)(const s3l_core_t* c);
  /** From when the lease of a write counts that was sent then. */
  s3l_ns_t (*lease_from)(const s3l_core_t* c, s3l_ns_t sent_at);
  /** Completes a write that is about to be sent: c->op and the effect. A take-over gets its epoch.
   */
  void (*prepare)(s3l_core_t* c, s3l_effect_t* effect);
  /** True if the store does not support the write's condition, as this reply tells, and the write
   * may be sent again in another form. */
  bool (*adapts)(s3l_core_t* c, const s3l_op_t* op, const s3lect_store_result_t* result);
  void (*inform)(s3l_core_t* c, s3l_inform_t what, const s3l_op_t* op);
  /** The object to remove next, by its number, while leading; 0: none. */
  uint64_t (*garbage)(const s3l_core_t* c);
  void (*gc_done)(s3l_core_t* c, s3l_effects_t* fx, const s3lect_store_result_t* result);
};

extern const s3l_protocol_t s3l_lockfile;
/** Needs s3l_core_config_t.epochs. */
extern const s3l_protocol_t s3l_epoch_files;

#endif
