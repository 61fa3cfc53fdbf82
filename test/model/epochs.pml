/* epochs.pml: the epoch-file protocol, for spin. Is there ever a second leader? Does an epoch ever
 * come twice? Every behaviour of N electors, their clocks, the network and the store is explored, up
 * to EMAX leaderships; within that, time, retries, losses and delays are unbounded.
 *
 * Time and clocks are those of lockfile.pml: a tick is a fraction of the leader timeout of T units;
 * each elector's clock may stand still or jump by two once in any T ticks; a lease lasts T - 1 units
 * of its holder's clock, an observation T + 1 of its observer's. Nothing is ever forced to happen.
 *
 * What stands for what
 *   h                the highest epoch of which there is a file; 0: none. Files below it are of no
 *                    interest to anybody but a holder whose lease still runs, and to it only by the
 *                    replies to its renewals, which a store always gives
 *   fown, fex, fage  what stands in the file of h: by whom (0: by an incarnation that has died),
 *                    expired, how long ago, by its writer's clock, that write was sent
 *   ve, vown, vex    an elector's view: the highest epoch it has seen, and what stood in that file
 *   intact           the file of h is still what the view shows, ETag and Last-Modified alike. Any
 *                    landing ends this, that of an old body as well (but see MUTANT_ETAG_ONLY)
 *   obs, sure        since the receipt of the first reply that showed the view; a read sent at or
 *                    after the end of the observation has shown the same once more
 *   rdv, r...        a reply to a read is on its way: rsame, it shows what the view shows; rnew,
 *                    what it shows is still so; rlate, it was sent after the observation. Sending and
 *                    snapshot are one step: a read that is sent earlier than it takes its snapshot
 *                    learns no less than one sent just then
 *   lead, lease      it is leader, of epoch led; since the send of its last confirmed write. The tick
 *                    that completes the lease ends leadership, and that epoch's for good (led)
 *   wk, what, wkey, wage  the write under way, whose reply is awaited: CREATE, RENEW or RELEASE, in
 *                    which place it was sent, how long ago; UNKNOWN: given up or refused, so the store must be read first
 *   mk, me, mex, mage, mdead  writes on their way, K for each elector: a create (If-None-Match: *) or a
 *                    plain rewriting of one's own file; of which epoch, expired, sent how long ago,
 *                    by an incarnation that has died since. They land late, or never; a plain one may land twice (REPLAY: by a proxy)
 *
 * Not in here: what files.pml is about (listings, the look at the base, which closes the same races once
 * more, claims over absence, promises, the sweep and hands), If-Match on renewals (it only forbids more).
 * Last-Modified is taken to differ whenever there was another write in between; it has a grain of one
 * second, so renewals must not be closer together than that.
 *
 * -DMUTANT_... breaks one rule; -DWITNESS=n asserts that a situation is never met (see run.sh). */
#ifndef N
#define N 2 /* electors */
#endif
#ifndef T
#define T 3 /* leader timeout, in units of a clock */
#endif
#ifndef EMAX
#define EMAX 3 /* leaderships */
#endif
#ifndef K
#define K 2 /* writes of one elector that may be on their way at once */
#endif
#ifndef WITNESS
#define WITNESS 0
#endif

#ifdef EXACT /* clocks without fault, and no margins: fewer states */
#define NO_DRIFT
#endif
#if defined(EXACT) || defined(MUTANT_NO_MARGIN)
#define LEASE T
#define WAIT T
#else
#define LEASE (T - 1)
#define WAIT (T + 1)
#endif

#ifdef MUTANT_LATE_COUNTS
#define FORGET_LATE false
#else
#define FORGET_LATE true
#endif
#ifdef MUTANT_OVERWRITE
#define NO_OVERWRITE false
#else
#define NO_OVERWRITE true
#endif

#ifdef MUTANT_LEASE_FROM_REPLY
#define AGE(age) 0
#else
#define AGE(age) age
#endif

#define UNSEEN 63
#define IDLE 0
#define AWAITED 1
#define UNKNOWN 2
#define NOTHING 0 /* what is in a place for a message */
#define CREATE 1
#define WRITE 2
#define RENEW 2
#define RELEASE 3
#define REPLAY 3 /* a write that has landed once */

byte h, fown, fage;
bit fex;

byte ve[N], obs[N], lease[N], led[N], wk[N], what[N], wkey[N], wage[N], rh[N], rage[N], cool[N];
bit vown[N], vex[N], intact[N], sure[N], lead[N], rp[N], rdv[N], rown[N], rex[N], rsame[N], rnew[N], rlate[N];
byte mk[N * K], me[N * K], mage[N * K];
bit mex[N * K], mdead[N * K];
#ifdef MUTANT_ETAG_ONLY
byte from, vfrom[N], rfrom[N]; /* in which place the body still is that stands in the file */
#endif

byte epochs; /* the highest epoch that was ever led */
byte i, j, e, step;

/* --- states that differ in what makes no difference are one state ------------------------------------ */

hidden byte a, b, x;

/* Elector y gains nothing by learning that it sent a write for this epoch so long ago. */
#define USELESS(y, epoch, age) \
  (led[y] > epoch || (led[y] == epoch && (!lead[y] || age >= lease[y])))

inline forget() {
  for (a : 0 .. N * K - 1) {
    b = a / K;
    if
    :: mk[a] == NOTHING || (mk[a] == CREATE && me[a] <= h&& NO_OVERWRITE) ||
       (mk[a] == WRITE && me[a] < h && !(wk[b] == AWAITED && wkey[b] == a % K)) ||
       (mk[a] == REPLAY && me[a] < h) ->
      mk[a] = NOTHING; me[a] = 0; mex[a] = 0; mage[a] = 0; mdead[a] = 0;
#ifdef MUTANT_ETAG_ONLY
      for (x : 0 .. N - 1) {
        if
        :: vfrom[x] == a + 1 -> vfrom[x] = 0
        :: else
        fi;
        if
        :: rfrom[x] == a + 1 -> rfrom[x] = 0
        :: else
        fi
      }
      if
      :: from == a + 1 -> from = 0
      :: else
      fi
#endif
    :: else
    fi
  }
  if
  :: fown == 0 || fex || USELESS(fown - 1, h, fage) -> fage = LEASE
  :: else
  fi;
  for (a : 0 .. N * K - 1) {
    if
    :: mk[a] != NOTHING && (mdead[a] || mex[a] || USELESS(a / K, me[a], mage[a])) -> mage[a] = LEASE
    :: else
    fi
  }
  for (b : 0 .. N - 1) {
    if
    :: wk[b] == AWAITED && (what[b] == RELEASE || (what[b] == RENEW && FORGET_LATE && USELESS(b, led[b], wage[b]))) ->
      wage[b] = LEASE
    :: wk[b] != AWAITED -> what[b] = 0; wkey[b] = 0; wage[b] = 0; rp[b] = 0
    :: else
    fi;
    if
    :: !rdv[b] -> rh[b] = 0; rage[b] = 0; rown[b] = 0; rex[b] = 0; rsame[b] = 0; rnew[b] = 0; rlate[b] = 0
    :: rdv[b] && (!rown[b] || rex[b] || USELESS(b, rh[b], rage[b])) -> rage[b] = LEASE
    :: else
    fi;
    if
    :: lead[b] || vown[b] || vex[b] || ve[b] == 0 || ve[b] == UNSEEN || sure[b] || ve[b] == EMAX -> obs[b] = 0
    :: else
    fi
  }
}

/* Electors are alike: which of them is in which condition makes no difference. */
#define KEY(y) (lead[y] + 2 * wk[y] + 6 * rdv[y] + 12 * rp[y] + 24 * cool[y] + \
  24 * T * (led[y] + (EMAX + 1) * (lease[y] + (T + 1) * (obs[y] + (WAIT + 1) * \
  (mk[(y) * K] + 4 * (sure[y] + 2 * (intact[y] + 2 * (vown[y] + 2 * ve[y]))))))))

inline swap(p, q) { x = p; p = q; q = x }

inline swap_messages(p, q) {
  swap(mk[p], mk[q]); swap(me[p], me[q]); swap(mage[p], mage[q]); swap(mex[p], mex[q]); swap(mdead[p], mdead[q])
}

/* So are the places of an elector's messages; the awaited one comes last. */
#define MESSAGE_KEY(p) (mk[p] + 4 * (me[p] + (EMAX + 2) * (mex[p] + 2 * (mdead[p] + 2 * mage[p]))))

inline sort_messages() {
  for (b : 0 .. N - 1) {
    a = b * K;
    if
    :: (mk[a] == NOTHING && mk[a + 1] != NOTHING) ||
       (mk[a] != NOTHING && mk[a + 1] != NOTHING &&
        (wk[b] == AWAITED -> wkey[b] == 0 : MESSAGE_KEY(a) > MESSAGE_KEY(a + 1))) ->
      swap_messages(a, a + 1);
      wkey[b] = (wk[b] == AWAITED -> 1 - wkey[b] : 0)
    :: else
    fi
  }
}

inline sort_electors() {
  for (b : 1 .. N - 1) {
    a = N - 1;
    do
    :: a > 0 ->
      if
      :: KEY(a) < KEY(a - 1) ->
        swap(ve[a], ve[a - 1]); swap(obs[a], obs[a - 1]); swap(lease[a], lease[a - 1]);
        swap(led[a], led[a - 1]); swap(wk[a], wk[a - 1]); swap(wkey[a], wkey[a - 1]); swap(what[a], what[a - 1]);
        swap(wage[a], wage[a - 1]); swap(rh[a], rh[a - 1]); swap(rage[a], rage[a - 1]);
        swap(cool[a], cool[a - 1]); swap(vown[a], vown[a - 1]); swap(vex[a], vex[a - 1]);
        swap(intact[a], intact[a - 1]); swap(sure[a], sure[a - 1]); swap(lead[a], lead[a - 1]);
        swap(rp[a], rp[a - 1]); swap(rdv[a], rdv[a - 1]); swap(rown[a], rown[a - 1]);
        swap(rex[a], rex[a - 1]); swap(rsame[a], rsame[a - 1]); swap(rnew[a], rnew[a - 1]);
        swap(rlate[a], rlate[a - 1]);
        swap_messages(a * K, (a - 1) * K);
#if K > 1
        swap_messages(a * K + 1, (a - 1) * K + 1);
#endif
        fown = (fown == a + 1 -> a : (fown == a -> a + 1 : fown))
      :: else
      fi;
      a--
    :: else -> break
    od
  }
}

inline canon() {
  d_step {
    forget();
#ifndef MUTANT_ETAG_ONLY
#if K == 2
    sort_messages();
#endif
    sort_electors();
#endif
    a = 0; b = 0; x = 0; e = 0; i = 0; j = 0; step = 0
  }
}

/* --- what an elector does -------------------------------------------------------------------------- */

inline nobody_else_leads() {
  j = 0;
  do
  :: j < N -> assert(j == i || !lead[j]); j++
  :: else -> break
  od
}

/* Elector i is leader of `epoch` from now on. The two properties. */
inline become_leader(epoch, age) {
  nobody_else_leads();
  assert(epoch > epochs);
  epochs = epoch;
  lead[i] = 1;
  led[i] = epoch;
  lease[i] = AGE(age)
}

/* A write of its own is known to have landed while its lease still ran. */
inline confirm(age) { lease[i] = (AGE(age) < lease[i] -> AGE(age) : lease[i]) }

inline stop_leading() { lead[i] = 0; lease[i] = 0 }

/* A create is known to have landed: the claim is led, or, if its lease is over, never will be. */
inline claim(epoch, age) {
  if
  :: age < LEASE -> become_leader(epoch, age)
  :: else -> led[i] = epoch
  fi
}

inline send(kind, why, epoch, expired) {
  j = i * K;
#if K > 1
  if
  :: mk[j] != NOTHING -> j++
  :: else
  fi;
#endif
  mk[j] = kind; me[j] = epoch; mex[j] = expired; mage[j] = 0; mdead[j] = 0;
  wk[i] = AWAITED; what[i] = why; wkey[i] = j % K; wage[i] = 0;
  rdv[i] = 0
}

#if K > 1
#define CAN_SEND(y) (wk[y] == IDLE && (mk[(y) * K] == NOTHING || mk[(y) * K + 1] == NOTHING))
#else
#define CAN_SEND(y) (wk[y] == IDLE && mk[y] == NOTHING)
#endif

#ifdef MUTANT_NO_CONFIRM
#define OBSERVED(y) (obs[y] >= WAIT)
#else
#define OBSERVED(y) sure[y]
#endif
#define MAY_TAKE_OVER(y) (!lead[y] && ve[y] < EMAX && \
  (ve[y] == 0 || vown[y] || vex[y] || OBSERVED(y)))

inline elector() {
  if
  :: wk[i] == UNKNOWN || (wk[i] == IDLE && !lead[i]) -> /* a read takes its snapshot */
    rdv[i] = 1; rh[i] = h; rown[i] = (fown == i + 1); rex[i] = fex; rage[i] = fage; rnew[i] = 1;
    rsame[i] = (ve[i] == h && intact[i]);
    rlate[i] = (obs[i] >= WAIT);
#ifdef MUTANT_ETAG_ONLY
    rfrom[i] = from
#endif

  :: rdv[i] -> /* and its reply is received */
#if WITNESS == 1
    assert(!(wk[i] == UNKNOWN && !lead[i] && rown[i] && rh[i] > led[i] && rage[i] < LEASE));
#endif
    if
    :: lead[i] && !(rown[i] && rh[i] == led[i]) -> stop_leading()
    :: lead[i] && rown[i] && rh[i] == led[i] && !rex[i] -> confirm(rage[i])
    :: !lead[i] && rown[i] && rh[i] > led[i] -> claim(rh[i], rage[i])
    :: else
    fi;
#ifdef MUTANT_READ_BEFORE
    rlate[i] = (obs[i] >= WAIT);
#endif
    if
    :: rsame[i] -> sure[i] = (sure[i] || (rlate[i] && !vown[i]))
    :: else ->
#ifdef MUTANT_KEEP_OBSERVATION
      obs[i] = (ve[i] == rh[i] -> obs[i] : 0);
#else
      obs[i] = 0;
#endif
      ve[i] = rh[i]; vown[i] = rown[i]; vex[i] = rex[i]; intact[i] = rnew[i]; sure[i] = 0;
#ifdef MUTANT_ETAG_ONLY
      vfrom[i] = rfrom[i]
#endif
    fi;
    rdv[i] = 0; wk[i] = IDLE

  :: lead[i] && CAN_SEND(i) -> send(WRITE, RENEW, led[i], 0)

  :: lead[i] && CAN_SEND(i) -> /* release: stop first, then write it */
#ifndef MUTANT_RELEASE_FIRST
    stop_leading();
#endif
    send(WRITE, RELEASE, led[i], 1)

  :: MAY_TAKE_OVER(i) && CAN_SEND(i) ->
    e = ve[i] + 1;
    send(CREATE, CREATE, e, 0)

  :: wk[i] == AWAITED -> wk[i] = UNKNOWN /* given up, the reply being lost or late; or refused */

  :: wk[i] == AWAITED && rp[i] -> /* the reply is received */
    wk[i] = IDLE;
    if
    :: what[i] == CREATE ->
      ve[i]++; vown[i] = 1; vex[i] = 0; intact[i] = 0; sure[i] = 0; obs[i] = 0;
      claim(ve[i], wage[i])
    :: what[i] == RENEW && lead[i] -> confirm(wage[i])
#ifdef MUTANT_LATE_COUNTS
    :: what[i] == RENEW && !lead[i] && wage[i] < LEASE -> nobody_else_leads(); lead[i] = 1; lease[i] = wage[i]
#endif
#ifdef MUTANT_RELEASE_FIRST
    :: what[i] == RELEASE && lead[i] -> stop_leading()
#endif
    :: else
    fi

#ifndef NO_CRASH
  :: epochs > 0 && (lead[i] || wk[i] != IDLE || ve[i] != UNSEEN) -> /* a crash and a new start */
    stop_leading();
    ve[i] = UNSEEN; obs[i] = 0; led[i] = 0; wk[i] = IDLE; rdv[i] = 0;
    vown[i] = 0; vex[i] = 0; intact[i] = 0; sure[i] = 0;
    fown = (fown == i + 1 -> 0 : fown);
    for (j : i * K .. i * K + K - 1) { mdead[j] = (mk[j] != NOTHING) }
#endif
  :: else
  fi
}

/* --- the network and the store ---------------------------------------------------------------------- */

inline changed() {
  for (j : 0 .. N - 1) { intact[j] = 0; rnew[j] = 0 }
}

/* The message in place i stands in the file of h from now on. */
inline stands() {
  fown = (mdead[i] -> 0 : i / K + 1); fex = mex[i]; fage = (mdead[i] -> LEASE : mage[i]);
  changed()
}

inline network() { /* i: a place for a message that is under way */
  if
  :: mk[i] != NOTHING -> /* lands */
#if WITNESS == 2
    assert(mdead[i] || (wk[i / K] == AWAITED && wkey[i / K] == i % K));
#endif
    e = 0;
    if
    :: mk[i] == CREATE && me[i] == h + 1 -> h = me[i]; stands(); e = 1
#ifdef MUTANT_LATE_COUNTS
#define FORGET_LATE false
#else
#define FORGET_LATE true
#endif
#ifdef MUTANT_OVERWRITE
    :: mk[i] == CREATE && me[i] == h -> stands(); e = 1
#endif
    :: mk[i] != CREATE && me[i] == h -> stands(); e = 1
    :: mk[i] != CREATE && me[i] < h -> e = 1
    :: else
    fi;
#ifdef MUTANT_ETAG_ONLY
    if
    :: mk[i] == REPLAY && me[i] == h ->
      for (j : 0 .. N - 1) {
        intact[j] = (ve[j] == h && vfrom[j] == i + 1);
        rnew[j] = (rdv[j] && rh[j] == h && rfrom[j] == i + 1)
      }
    :: else
    fi;
    if
    :: e == 1 && me[i] == h -> from = i + 1
    :: else
    fi;
#endif
    if
    :: e == 1 && !mdead[i] && wk[i / K] == AWAITED && wkey[i / K] == i % K -> rp[i / K] = 1
    :: else
    fi;
    if
    :: mk[i] = NOTHING
    :: mk[i] == WRITE && me[i] == h -> mk[i] = REPLAY
    fi
  :: mk[i] != NOTHING -> mk[i] = NOTHING /* is lost */
  :: else
  fi
}

/* --- time -------------------------------------------------------------------------------------------- */

#define LATER(t, limit) t = (t + step > limit -> limit : t + step)

/* Elector i's clock advances by `step`. Timers stop where nobody asks for more. */
inline advance() {
  d_step {
    for (j : i * K .. i * K + K - 1) { LATER(mage[j], LEASE) }
    if
    :: fown == i + 1 -> LATER(fage, LEASE)
    :: else
    fi;
    LATER(wage[i], LEASE);
    LATER(rage[i], LEASE);
    LATER(obs[i], WAIT);
    if
    :: lead[i] ->
      LATER(lease[i], LEASE);
#ifndef MUTANT_NO_SELF_STOP
      if
      :: lease[i] == LEASE -> stop_leading()
      :: else
      fi
#endif
    :: else
    fi
  }
}

inline tick() {
  i = 0;
  do
  :: i < N ->
    if
    :: step = 1
#ifndef NO_DRIFT
    :: cool[i] == 0 -> step = 0
    :: cool[i] == 0 -> step = 2
#endif
    fi;
#ifndef MUTANT_WILD_CLOCK
    cool[i] = (step != 1 -> T - 1 : (cool[i] > 0 -> cool[i] - 1 : 0));
#endif
    advance();
    i++
  :: else -> break
  od
}

inline pick(n) {
  i = 0;
  do
  :: i < n - 1 -> i++
  :: break
  od
}

init {
  d_step {
    for (i : 0 .. N - 1) { ve[i] = UNSEEN }
    i = 0
  }
  do
  :: atomic {
      epochs < EMAX -> /* what follows the last leadership is like what followed the ones before */
      if
      :: tick()
      :: pick(N); elector()
      :: pick(N * K); network()
      fi;
      canon()
    }
  :: epochs == EMAX ->
#if WITNESS == 3
    assert(false);
#endif
    break
  od
}
