/* core/core.h: the election as a pure state machine.
 *
 * s3l_core_step takes the time and one event, and fills a bounded list of effects to carry out;
 * s3l_core_deadline says when the core wants to be called next. No I/O, no clock, no memory, no
 * callback: the executor and the simulator carry out the same effects.
 *
 * Vocabulary
 *   observation  the newest state of the lockfile that this elector knows: a record (its own or
 *                another's), absence, or something that is no record; with the ETag, and with the
 *                time at which it was first seen
 *   takeover_at  the earliest instant at which the observed record may be replaced (design rules 3,
 *                10, 14)
 *   operation    a poll, take-over, renewal or release; made of attempts by the retry schedule
 *   uncertain    a write whose outcome is unknown; the record is read back before anything else
 *   lockfile     here also the epoch file that counts, in that protocol; see core/protocol.h
 *   watching     polling at the frequent interval, ready to take over at takeover_at
 *   provisional  a claim written over absence, or over a release without an epoch. Neither shows
 *                whether somebody leads whose record was removed, and both can recur (ABA), so the
 *                claim may land late. A provisional claim is never led and never released. After a
 *                whole leader timeout its own maker replaces it too, and leads by that (design
 *                rules 3, 10). Its record counts no leadership, which is how others recognise it
 *   probe        a question to the observed leader, at the address in its record: does it lead, by
 *                which write, and for how much longer. At most one is under way, beside the store
 *                request. What an answer can change: core/peer.c
 *   releasing    leadership has ended, and the release that is owed is not yet written
 *   grant        the write of a waiting follower's claim in place of the release: core/grant.h
 *   gc           removal of old epoch files, beside everything else
 *
 * Invariants (checked at the end of every step)
 *   - at most one store request is under way, that of gc apart;
 *   - leading implies that validity lies in the future and that the observation is the elector's
 *     own record of the epoch that it leads;
 *   - validity is the send time of a write known to have been applied, plus T * (1 - drift); with
 * epoch files that of the newest clean listing, if the listing was sent before the write;
 *   - an epoch is led at most once;
 *   - every write carries a write number that no earlier write of this incarnation carried.
 *
 * Layers, each of which calls only those above it in this list:
 *   epochs, lease, record   names and listings of epoch files; lease arithmetic; the record's body
 *   state, protocol         types
 *   effects                 adding to the list of effects
 *   observation             what is known of the lockfile
 *   grant                   handing leadership over in one write
 *   request, peer           attempts and their schedule; probing the leader
 *   poll                    when to read next
 *   lockfile, epoch_*       the two protocols
 *   absence                 telling that nobody leads
 *   lead, write             leadership; writing, and what became of a write
 *   core                    the step: what an event means, and what is due */
#ifndef S3L_CORE_CORE_H
#define S3L_CORE_CORE_H

#include "core/protocol.h"
#include "core/state.h"

/** Prepares a core. The configuration must have passed the option check. */
void s3l_core_init(s3l_core_t* core, const s3l_core_config_t* config);

/** Whether a record of this elector holds its leader timeout: it leads by it, or may yet, or is
 * about to release it. */
bool s3l_core_is_bound(const s3l_core_t* core);

/** Changes the configuration, between two steps, while no write is under way: the record of a write
 * must be what was written. Protocol, ID and drift stay, and so does the leader timeout of a core
 * that is bound. With another leader timeout no earlier write of this incarnation is ever led. */
void s3l_core_reconfigure(s3l_core_t* core, s3l_ns_t now, const s3l_core_config_t* config);

/** Sets the value to publish ("" for none), which the owner keeps until the next call, and while a
 * write is under way until that has ended: it may have this value. The next write carries it. A
 * leader writes it `at_once`, as a renewal that comes early: by the same condition, with a write
 * number of its own.
 */
void s3l_core_set_value(s3l_core_t* core, const char* value, bool at_once);

/** Tells the core what happened at `now` (ns, lease time of its executor); `effects` is overwritten
 * with what to do, in this order. DONE may only follow a READ, WRITE or LIST, PEER a PROBE, GC_DONE
 * a GC; START only while stopped; RESIGN and TRANSFER only while leading; others at any time. */
void s3l_core_step(s3l_core_t* core, s3l_ns_t now, const s3l_event_t* event,
                   s3l_effects_t* effects);

/** When TICK is due; S3L_NEVER if only an event from outside can change anything. */
s3l_ns_t s3l_core_deadline(const s3l_core_t* core);

/** What a leader says of itself to a probe. */
typedef struct s3l_confirmed_s {
  /* Of the last write that the store confirmed. If its value is not the one that is set now,
   * `value` is empty and the owner puts it there. */
  s3lect_record_t record;
  const char* etag;      /* what the store gave it; the core's, until its next step */
  uint64_t valid_for_ms; /* validity left at `now`, rounded up: leadership ends by then, unless a
                            later write is confirmed before */
} s3l_confirmed_t;

/** Fills *out and returns true if leadership is announced and valid at `now` (read afresh). False
 * is the answer 404. A write whose outcome is unknown is not confirmed: until it is resolved, the
 * answer is about the write before. An owner that withdrew is_leader before telling the core of a
 * resignation or stop answers 404 by itself. */
bool s3l_core_confirmed(const s3l_core_t* core, s3l_ns_t now, s3l_confirmed_t* out);

/** Whether the observed record is the claim of that other incarnation: what is to be said to its
 * owner. Fills *out but for the names and the value, which are those of the observed record. */
bool s3l_core_granted(const s3l_core_t* core, const char* incarnation, s3l_confirmed_t* out);

#endif
