# What is broken in each mutant of mutant_ids.h. A row: id, file of src/core, the text that must
# occur in it exactly once, and what stands there instead; SIM_IS(id) is true in that mutant.

mutation(NO_SELF_STOP lead.c
  "if (c->now >= c->valid_until - S3L_STOP_EARLY)"
  "if (!SIM_IS(NO_SELF_STOP) && c->now >= c->valid_until - S3L_STOP_EARLY)")
mutation(NO_SELF_STOP core.c
  "at = sooner(at, c->valid_until - S3L_STOP_EARLY);"
  "at = SIM_IS(NO_SELF_STOP) ? at : sooner(at, c->valid_until - S3L_STOP_EARLY);")

mutation(LEASE_FROM_REPLY write.c
  "s3l_lead_if_valid(c, fx, op->sent_at);"
  "s3l_lead_if_valid(c, fx, SIM_IS(LEASE_FROM_REPLY) ? c->now : op->sent_at);")
mutation(LEASE_FROM_REPLY write.c
  "s3l_lead_renewed(c, fx, op->sent_at);"
  "s3l_lead_renewed(c, fx, SIM_IS(LEASE_FROM_REPLY) ? c->now : op->sent_at);")

mutation(WALL_CLOCK_EXPIRY view.c
  "  return s3l_ns_add(c->now, s3l_view_wait(c));\n}"
  "  if (SIM_IS(WALL_CLOCK_EXPIRY) && v->kind == S3L_VIEW_RECORD) {
    s3l_ns_t age = (c->wall_ms - v->record.last_updated_ms) * S3L_MS;
    return age > s3l_view_wait(c) ? c->now : s3l_ns_add(c->now, s3l_view_wait(c));
  }
  return s3l_ns_add(c->now, s3l_view_wait(c));\n}")

mutation(BLIND_RETRY write.c
  "    c->stats.unknown_outcomes++;\n    c->read_back = true;\n    c->uncertain = c->write;"
  "    c->stats.unknown_outcomes++;\n    c->read_back = !SIM_IS(BLIND_RETRY) && !(SIM_IS(EPOCHS_BLIND_CREATE) && op->kind == S3L_OP_TAKE_OVER);\n    c->uncertain = c->write;")

mutation(OBSERVATION_NOT_RESET view.c
  "  v->legal_at = legal_at(c);"
  "  if (!SIM_IS(OBSERVATION_NOT_RESET) || v->legal_at == 0 || v->own)\n    v->legal_at = legal_at(c);")

mutation(EPOCH_NOT_RAISED write.c
  "uint64_t next = c->epoch_seen + 1;"
  "uint64_t next = SIM_IS(EPOCH_NOT_RAISED) && c->view.record.epoch > 0 ? c->view.record.epoch
                                                                         : c->epoch_seen + 1;
  if (SIM_IS(EPOCH_NOT_RAISED) && c->view.record.epoch > 0)
    return next;")

mutation(STALE_EPOCH_KEPT write.c
  "         !c->unfounded;"
  "         (!c->unfounded || SIM_IS(STALE_EPOCH_KEPT));")

mutation(CLAIM_COUNTED_ON write.c
  "(!late || r->released))"
  "(!late || r->released || SIM_IS(CLAIM_COUNTED_ON)))")

mutation(CLAIM_TOLD view.c
  "  bool claims = is_provisional(c);"
  "  bool claims = is_provisional(c) && !SIM_IS(CLAIM_TOLD);")

mutation(EPOCH_RESTARTED write.c
  "return seed > next ? seed : next;"
  "return SIM_IS(EPOCH_RESTARTED) ? next : seed > next ? seed : next;")

mutation(LATE_REPLY_RENEWS write.c
  "  case S3L_OP_RENEW:\n    if (c->leading) {"
  "  case S3L_OP_RENEW:
    if ((SIM_IS(LATE_REPLY_RENEWS) || SIM_IS(EPOCHS_LATE_RENEWS)) && !c->leading && !c->release_owed &&
        c->phase == S3L_PHASE_STANDING && op->epoch == c->epoch_led) {
      c->leading = true;
      c->announced = true;
      c->valid_until = c->now + S3L_MS;
    }
    if (c->leading) {")

mutation(INCARNATION_IGNORED view.c
  "strcmp(record->incarnation, c->incarnation) == 0;"
  "(SIM_IS(INCARNATION_IGNORED)
                                              ? strcmp(record->leader_id, c->config.id) == 0
                                              : strcmp(record->incarnation, c->incarnation) == 0);")
mutation(INCARNATION_IGNORED view.c
  "return s == NULL || s->unfounded;"
  "return !SIM_IS(INCARNATION_IGNORED) && !SIM_IS(ABSENCE_IS_FREEDOM) && (s == NULL || s->unfounded);")

mutation(RELEASE_BEFORE_STOP core.c
  "  s3l_lead_stop(c, fx, S3L_REASON_RESIGNED);"
  "  if (!SIM_IS(RELEASE_BEFORE_STOP))\n    s3l_lead_stop(c, fx, S3L_REASON_RESIGNED);")
mutation(RELEASE_BEFORE_STOP write.c
  "  default:\n    c->release_owed = false;"
  "  default:\n    if (SIM_IS(RELEASE_BEFORE_STOP))\n      s3l_lead_stop(c, fx, S3L_REASON_RESIGNED);
    c->release_owed = false;")

mutation(NO_DRIFT_MARGIN lease.c
  "return leader_timeout - part(leader_timeout, drift_ppm) - 1;"
  "return leader_timeout - (SIM_IS(NO_DRIFT_MARGIN) ? 0 : part(leader_timeout, drift_ppm)) - 1;")
mutation(NO_DRIFT_MARGIN lease.c
  "return leader_timeout + part(leader_timeout, drift_ppm) + 1;"
  "return leader_timeout + (SIM_IS(NO_DRIFT_MARGIN) ? 0 : part(leader_timeout, drift_ppm)) + 1;")

mutation(TIMER_TRUSTED lease.c
  "s3l_ns_t slept = left - left / 10;"
  "s3l_ns_t slept = SIM_IS(TIMER_TRUSTED) ? left : left - left / 10;")

mutation(OWN_TIMEOUT_ONLY view.c
  "return s3l_lease_wait((t > seen ? t : seen) * S3L_MS, c->config.drift_ppm);"
  "return s3l_lease_wait((t > seen || SIM_IS(OWN_TIMEOUT_ONLY) ? t : seen) * S3L_MS,
                        c->config.drift_ppm);")

mutation(FOREIGN_RELEASE_TRUSTED view.c
  "(v->kind == S3L_VIEW_RECORD && v->record.released && v->record.epoch == 0);"
  "(v->kind == S3L_VIEW_RECORD && v->record.released && v->record.epoch == 0 &&
          !SIM_IS(FOREIGN_RELEASE_TRUSTED));")

mutation(DAMAGE_IS_FREEDOM view.c
  "  if (v->own && !c->unfounded)\n    return c->now; /*"
  "  if ((v->own && !c->unfounded) ||
      (SIM_IS(DAMAGE_IS_FREEDOM) && v->kind == S3L_VIEW_FOREIGN))\n    return c->now; /*")

mutation(READ_BACK_IS_SENDING lead.c
  "s3l_lead_if_valid(c, fx, sent->at);"
  "s3l_lead_if_valid(c, fx, SIM_IS(READ_BACK_IS_SENDING) ? c->now : sent->at);")

mutation(ALWAYS_WATCHING view.c
  "  s3l_view_look_after(c, c->watching"
  "  c->watching = c->watching || SIM_IS(ALWAYS_WATCHING);
  s3l_view_look_after(c, c->watching")

mutation(LOSS_NOT_TOLD lead.c
  "  if (!announced)\n    return;\n  c->ack_owed"
  "  if (!announced || (SIM_IS(LOSS_NOT_TOLD) && reason == S3L_REASON_LOST))\n    return;\n  c->ack_owed")

mutation(WRITE_NUMBER_STUCK write.c
  "  c->write++;"
  "  if (!SIM_IS(WRITE_NUMBER_STUCK) || kind != S3L_OP_RENEW)\n    c->write++;")

mutation(ACK_IGNORED core.c
  "  if (c->ack_owed)\n    d.at = c->ack_until;"
  "  if (c->ack_owed && !SIM_IS(ACK_IGNORED))\n    d.at = c->ack_until;")
mutation(ACK_IGNORED core.c
  "         c->unacknowledged == 0;"
  "         (c->unacknowledged == 0 || SIM_IS(ACK_IGNORED) ||
          (SIM_IS(ACK_OF_ONE_EPOCH) && c->view.record.epoch != c->unacknowledged));")

mutation(NEVER_TAKES_OVER core.c
  "bool wants = !c->config.observer && c->view.kind != S3L_VIEW_UNKNOWN && c->watching &&"
  "bool wants = !c->config.observer && c->view.kind != S3L_VIEW_UNKNOWN && c->watching &&
               !(SIM_IS(NEVER_TAKES_OVER) && c->view.kind == S3L_VIEW_RECORD &&
                 !c->view.record.released && !c->view.own);")

mutation(ASLEEP view.c
  "bool sleeps = !c->watching && c->view.legal_at < at;"
  "bool sleeps = !c->watching && c->view.legal_at < at && !SIM_IS(ASLEEP);")

mutation(CLAIM_RELEASED core.c
  "return s3l_view_is_own_claim(c) && !c->unfounded &&"
  "return s3l_view_is_own_claim(c) && (!c->unfounded || SIM_IS(CLAIM_RELEASED)) &&")

mutation(STORE_CLOCK_NO_MARGIN view.c
  "s3l_ns_add(s3l_view_wait(c), STORE_CLOCK_MARGIN);"
  "s3l_ns_add(s3l_view_wait(c), SIM_IS(STORE_CLOCK_NO_MARGIN) ? 0 : STORE_CLOCK_MARGIN);")

mutation(SELF_NAMED write.c
  "  c->stats.writes++;"
  "  c->stats.writes++;
  if (SIM_IS(SELF_NAMED)) {
    s3l_effect_t* named = s3l_core_effect(fx, S3L_DO_NOTIFY);
    named->note = S3L_NOTE_NEW_LEADER;
    fx->viewed = true;
    fx->seen = fx->record; /* of this very write */
  }")

mutation(SENDS_TWICE core.c
  "  c->stats.reads++;"
  "  c->stats.reads++;
  if (SIM_IS(SENDS_TWICE) && c->stats.reads % 100 == 0)
    *s3l_core_effect(fx, S3L_DO_READ) = *e;")

mutation(ANSWER_PROLONGS peer.c
  "  c->stats.peer_answers++;\n"
  "  c->stats.peer_answers++;
  if (SIM_IS(ANSWER_PROLONGS) && c->epoch_led > 0 && r->valid_for_ms > 0) {
    c->leading = c->announced = true;
    c->epoch = c->epoch_led;
    c->valid_until = c->now + r->valid_for_ms * S3L_MS;
  }\n")

mutation(HINT_IS_PROMISE peer.c
  "bool whole = r->authenticated &&"
  "bool whole = (r->authenticated || SIM_IS(HINT_IS_PROMISE)) &&")

mutation(PROMISE_STRETCHED peer.c
  "  if (again && is_stretched(c, ends))\n    return false;\n  p->until = again ?"
  "  if (SIM_IS(PROMISE_STRETCHED) && again)
    again = false;
  if (again && is_stretched(c, ends))\n    return false;\n  p->until = again ?")

mutation(PROMISE_NO_DRIFT peer.c
  "s3l_lease_outlast(left, c->config.drift_ppm) + S3L_MS"
  "(SIM_IS(PROMISE_NO_DRIFT) ? left : s3l_lease_outlast(left, c->config.drift_ppm)) + S3L_MS")

mutation(PROMISE_OF_BEFORE peer.c
  "  return write < c->view.record.write ||"
  "  if (SIM_IS(PROMISE_OF_BEFORE) || SIM_IS(PROMISE_OF_ANOTHER))
    return false;
  return write < c->view.record.write ||")

mutation(PROMISE_OF_ANOTHER peer.c
  "  const s3l_view_record_t told = s3l_view_without_names(c, r->record);"
  "  const s3l_view_record_t told = s3l_view_without_names(c, r->record);
  if (SIM_IS(PROMISE_OF_ANOTHER))
    return NULL;")

mutation(STAMP_FOR_EVER peer.c
  "until = sooner(p->until, s3l_ns_add(p->store_at, most));"
  "until = SIM_IS(STAMP_FOR_EVER) ? p->until : sooner(p->until, s3l_ns_add(p->store_at, most));")

mutation(PEERS_IN_VAIN peer.c
  "  c->watching = false;\n  c->poll_at = until;"
  "  c->watching = false;\n  c->poll_at = SIM_IS(PEERS_IN_VAIN) ? c->poll_at : until;")

mutation(ASKS_TWICE peer.c
  "  c->stats.peer_checks++;"
  "  c->stats.peer_checks++;
  if (SIM_IS(ASKS_TWICE) && c->stats.peer_checks % 100 == 0)
    *s3l_core_effect(fx, S3L_DO_ASK) = *e;")

mutation(NO_HEAD_START view.c
  "return c->view.record.head_start ? most : 0;"
  "return c->view.record.head_start && !SIM_IS(NO_HEAD_START) && !SIM_IS(EPOCHS_NO_HEAD_START) ? most : 0;")

# Epoch files.

# The look before the create and the one after it each suffice: these have neither.
mutation(EPOCHS_UNCONFIRMED epochs.c
  "return fresh && (ep->sure || invited);"
  "return fresh && (ep->sure || invited || (SIM_IS(EPOCHS_UNCONFIRMED) && t >= v->legal_at));")
mutation(EPOCHS_READ_BEFORE epochs_read.c
  "(ep->sure || sent >= c->view.legal_at)"
  "(ep->sure || (SIM_IS(EPOCHS_READ_BEFORE) ? c->now : sent) >= c->view.legal_at)")
mutation(EPOCHS_ETAG_ONLY epochs_read.c
  "if (same && r->modified_ms == ep->modified_ms)"
  "if (same && (r->modified_ms == ep->modified_ms || SIM_IS(EPOCHS_ETAG_ONLY)))")
mutation(EPOCHS_ETAG_ONLY epochs_read.c
  "(r->modified_ms == ep->base_modified_ms ||"
  "(SIM_IS(EPOCHS_ETAG_ONLY) || r->modified_ms == ep->base_modified_ms ||")
mutation(EPOCHS_PROMISE peer.c
  "if (c->config.epochs == NULL)"
  "if (c->config.epochs == NULL || SIM_IS(EPOCHS_PROMISE))")
mutation(EPOCHS_RESUMED lead.c
  "!c->unfounded && c->view.record.epoch > c->epoch_led &&"
  "!c->unfounded && (c->view.record.epoch > c->epoch_led || SIM_IS(EPOCHS_RESUMED)) &&")
mutation(EPOCHS_UNLISTED epochs.c
  "return ep == NULL || sent_at < ep->clean_at ? sent_at : ep->clean_at;"
  "bool longer = SIM_IS(EPOCHS_LEASE_FROM_LISTING) && c->leading;
  return ep == NULL || (sent_at < ep->clean_at && !longer) || SIM_IS(EPOCHS_UNLISTED) ? sent_at
                                                                                     : ep->clean_at;")
mutation(EPOCHS_UNLISTED epochs.c
  "return ep->clean_at < ep->renewed_at ? c->poll_at : S3L_NEVER;"
  "return ep->clean_at < ep->renewed_at && !SIM_IS(EPOCHS_UNLISTED) ? c->poll_at : S3L_NEVER;")
mutation(EPOCHS_FORGOTTEN epochs_read.c
  "ep->asked = s3l_larger(ep->found, c->epoch_seen);"
  "ep->asked = SIM_IS(EPOCHS_FORGOTTEN) ? ep->found : s3l_larger(ep->found, c->epoch_seen);")
mutation(EPOCHS_FORGOTTEN epochs_read.c
  "e->file = sweeps || c->epoch_seen == 0 ? 0 : c->epoch_seen - 1;"
  "e->file = sweeps || c->epoch_seen == 0 || SIM_IS(EPOCHS_FORGOTTEN) ? 0 : c->epoch_seen - 1;")
mutation(EPOCHS_BASE_UNSEEN epochs.c
  "ep == NULL || ep->checked == ep->file;"
  "ep == NULL || ep->checked == ep->file || SIM_IS(EPOCHS_BASE_UNSEEN) ||
         SIM_IS(EPOCHS_UNCONFIRMED) || SIM_IS(EPOCHS_READ_BEFORE);")
mutation(EPOCHS_CHECKED_ONCE epochs.c
  "  if (!c->leading && !is_late_renewal(c))
    ep->checked = 0;"
  "  if (!c->leading && !is_late_renewal(c) && !(SIM_IS(EPOCHS_CHECKED_ONCE) && ep->checked <= c->epoch_led))
    ep->checked = 0;")
mutation(EPOCHS_CLAIM_LED view.c
  "if (c->config.epochs != NULL && s3l_epochs_is_unwatched(c, s))"
  "if (SIM_IS(EPOCHS_CLAIM_LED))
    return s == NULL;
  if (c->config.epochs != NULL && s3l_epochs_is_unwatched(c, s))")
mutation(EPOCHS_CLAIM_LED epochs.c
  "bool s3l_epochs_is_checked(const s3l_core_t* c) {"
  "bool s3l_epochs_is_checked(const s3l_core_t* c) {
  if (SIM_IS(EPOCHS_CLAIM_LED))
    return true;")
mutation(EPOCHS_SWEPT_SECOND epochs_sweep.c
  "if (!newest_two && old)"
  "newest_two = newest_two && !(SIM_IS(EPOCHS_SWEPT_SECOND) && l->old[i] < ep->file);
    if (!newest_two && (old || SIM_IS(EPOCHS_SWEPT_YOUNG)))")
mutation(EPOCHS_NEVER_SWEPT epochs_sweep.c
  "if (!c->leading || ep->sweep_len == 0)"
  "if (!c->leading || ep->sweep_len == 0 || SIM_IS(EPOCHS_NEVER_SWEPT))")
mutation(EPOCHS_NEVER_PLAIN epochs.c
  "  ep->plain = S3L_EPOCHS_PLAIN;\n"
  "  ep->plain = SIM_IS(EPOCHS_NEVER_PLAIN) ? 0 : S3L_EPOCHS_PLAIN;\n")
mutation(EPOCHS_ALWAYS_LISTING epochs_read.c
  "    return READ_GLANCE;"
  "    return SIM_IS(EPOCHS_ALWAYS_LISTING) ? READ_WHOLE : READ_GLANCE;")
mutation(EPOCHS_CLAIM_COUNTED_ON epochs.c
  "v->kind == S3L_VIEW_RECORD && v->record.claim;"
  "v->kind == S3L_VIEW_RECORD && v->record.claim &&
         !(SIM_IS(EPOCHS_CLAIM_COUNTED_ON) && !v->own);")
mutation(EPOCHS_CLAIM_HASTE epochs.c
  "wait *= v->own ? 2 : 3;"
  "wait *= SIM_IS(EPOCHS_CLAIM_HASTE) ? 1 : v->own ? 2 : 3;")
mutation(EPOCHS_LISTING_BELIEVED epochs_read.c
  "  if (ep->asked != 0)\n    return goes_on_with(ep, STEP_FILE);"
  "  if (SIM_IS(EPOCHS_LISTING_BELIEVED))
    ep->asked = ep->found;
  if (ep->asked != 0)\n    return goes_on_with(ep, STEP_FILE);")
mutation(EPOCHS_OWN_DOUBTED epochs.c
  "c->view.record.write > ep->led_write;"
  "c->view.record.write > ep->led_write && !SIM_IS(EPOCHS_OWN_DOUBTED);")
mutation(EPOCHS_UNSHOWN epochs_read.c
  "ep->clean_at = unshown ? 0 : ep->list_sent;"
  "ep->clean_at = unshown && !SIM_IS(EPOCHS_UNSHOWN) ? 0 : ep->list_sent;")
mutation(EPOCHS_DAMAGE_IS_FREEDOM epochs.c
  "  if (v->own && !c->unfounded)\n    return c->now;"
  "  if ((v->own && !c->unfounded) ||
      (SIM_IS(EPOCHS_DAMAGE_IS_FREEDOM) && v->kind == S3L_VIEW_FOREIGN))\n    return c->now;")
mutation(EPOCHS_TAKEN_NUMBER epochs.c
  "ep->file > ep->others &&"
  "(ep->file > ep->others || SIM_IS(EPOCHS_TAKEN_NUMBER) || SIM_IS(EPOCHS_FORGOTTEN)) &&")
mutation(EPOCHS_NEXT_ONLY epochs_read.c
  "ep->found = s3l_larger(ep->found, r->listing->highest);"
  "ep->found = SIM_IS(EPOCHS_NEXT_ONLY) && ep->file != 0 && r->listing->highest > ep->file + 1
                  ? ep->file
                  : s3l_larger(ep->found, r->listing->highest);")
mutation(EPOCHS_COPY_BELIEVED record.c
  "if (record->epoch != number)"
  "if (record->epoch != number && !SIM_IS(EPOCHS_COPY_BELIEVED))")
mutation(EPOCHS_RESTARTED epochs.c
  "return s3l_larger(c->epoch_seen + 1, ms / 1000);"
  "return SIM_IS(EPOCHS_RESTARTED) ? c->epoch_seen + 1 : s3l_larger(c->epoch_seen + 1, ms / 1000);")
mutation(EPOCHS_TOLD_BEFORE epochs_read.c
  "(c->view.own || before))"
  "(c->view.own || before || SIM_IS(EPOCHS_TOLD_BEFORE)))")
mutation(EPOCHS_OWN_UNCHECKED epochs.c
  "    return fresh && s3l_epochs_is_checked(c);"
  "    return fresh && (s3l_epochs_is_checked(c) || SIM_IS(EPOCHS_OWN_UNCHECKED));")
mutation(EPOCHS_OWN_UNCHECKED epochs.c
  "         knows_base(c);"
  "         knows_base(c) &&
         (!SIM_IS(EPOCHS_OWN_UNCHECKED) ||
          c->now - s3l_write_sent(c, c->view.record.epoch, c->view.record.write)->at <=
              s3l_lead_hold(c) / 3 * 2);")
