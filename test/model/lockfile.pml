/* lockfile.pml: the lockfile protocol, for spin. Is there ever a second leader? Does an epoch ever
 * come twice? Every behaviour of N electors, their clocks, the network and the store is explored, up
 * to EMAX leaderships; within that, time, retries, losses and delays are unbounded.
 *
 * Time. A real tick is a fraction of the leader timeout of T units. Each elector has a clock of its
 * own that advances by one per tick, but may stand still or jump by two once in any T ticks: a rate
 * that is wrong by up to 1/T. Hence the margins of design rule 2 and 3: a lease lasts T - 1 units of
 * its holder's clock, an observation T + 1 units of its observer's. This is exactly enough, with
 * nothing to spare. Nothing is ever forced to happen: an elector may do nothing for any time (a
 * pause, a blocked loop, a suspended machine), a message may stay on its way for any time.
 *
 * What stands for what
 *   store            the lockfile's present version, 0 if there is none. A version is a number for
 *                    one write's body, hence for its ETag: incarnation and write number make each
 *                    unique (rule 5). Numbers that nobody remembers are used again (canon).
 *   own, ep, rel     what the body of a version says: by whom (0: by an incarnation that has died),
 *                    epoch, released. age: how long ago its owner, by its clock, sent that write.
 *   seen, obs        an elector's view of the lockfile, and since the receipt of the first reply
 *                    that showed it (rule 3; of absence too); UNSEEN: it knows nothing yet
 *   lead, lease      it is leader; time since the send of the last write confirmed to have landed.
 *                    The tick that completes the lease ends leadership: is_leader is a comparison
 *                    with the clock (rule 7), whether or not the elector gets to run
 *   led              the highest epoch that this incarnation has led
 *   w, wk            its write under way: AWAITED, or UNKNOWN when it gave up or was refused: then
 *                    it must read the record back before it writes again (rules 5 and 6)
 *   rdv, rd, rp      a read has taken its snapshot, rd; the reply to the write is on its way
 *   nw, ex           writes on their way to the store, K for each elector: version and If-Match.
 *                    They land late, or never, whatever their sender does, crash included
 *
 * Not in here: wall clocks and the store-clock shortcut, peers (they extend nothing), the grace
 * period (it only delays), the retry schedule (any schedule is possible), the quoting of ETags.
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
#ifndef DELETE
#define DELETE 0 /* the lockfile is removed by hand, once: 1 while all know it, 2 at any time */
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

#define IDS (2 + 3 * N + 2 * N * K) /* versions that can be referred to at once, and 0 */
#define UNSEEN 63
#define IDLE 0
#define AWAITED 1
#define UNKNOWN 2

#ifdef MUTANT_RESUME
#define FORGET <
#else
#define FORGET <=
#endif

byte store;
byte own[IDS], ep[IDS], age[IDS];
bit rel[IDS];

byte seen[N], obs[N], lease[N], led[N], w[N], wk[N], rd[N], cool[N];
bit lead[N], rdv[N], rp[N];
byte nw[N * K], ex[N * K];

byte epochs;  /* the highest epoch that was ever led */
byte written; /* the highest epoch that was ever written: the store's time lies beyond it */
bit deleted;  /* the lockfile was removed by hand */
byte i, j, id, e, step;

#ifdef MUTANT_WALL_CLOCK
byte real[IDS]; /* real age of a write: what wall clocks show, the observer's being two ahead */
#endif

/* --- states that differ in what makes no difference are one state ---------------------------------- */

hidden byte map[IDS + 1], names, a, b;
hidden byte own_[IDS], ep_[IDS], rel_[IDS], age_[IDS];
#ifdef MUTANT_WALL_CLOCK
hidden byte real_[IDS];
#endif

/* Numbers of versions that are no longer remembered are given free, the others follow each other in
 * the order in which they are met. */
inline rename(x) {
  if
  :: x != 0 && x != UNSEEN ->
    if
    :: map[x] == 0 -> names++; map[x] = names
    :: else
    fi;
    x = map[x]
  :: else
  fi
}

/* A write that can never be carried out, as its ETag is gone for good, is as good as lost: its
 * sender gives up on it, at any time, and learns as much as from a refusal. */
inline drop_dead() {
  for (a : 0 .. N * K - 1) {
    if
    :: nw[a] != 0 && ex[a] != store ->
      e = 0;
      for (b : 0 .. N * K - 1) {
        if
        :: nw[b] != 0 && nw[b] == ex[a] -> e = 1
        :: else
        fi
      }
      if
      :: e == 0 -> nw[a] = 0; ex[a] = 0
      :: else
      fi
    :: else
    fi
  }
#if K > 1
  for (a : 0 .. N - 1) {
    if
    :: nw[a * K] == 0 -> nw[a * K] = nw[a * K + 1]; ex[a * K] = ex[a * K + 1];
      nw[a * K + 1] = 0; ex[a * K + 1] = 0
    :: else
    fi
  }
#endif
}

/* What can make no difference any more: how old a write is by which its owner can gain nothing, how
 * long a record has stood after which there is nothing to explore, what was led of which nothing is
 * left. */
inline forget() {
  for (b : 0 .. N - 1) {
    e = 0;
    for (a : 1 .. IDS - 1) {
      if
      :: own[a] == b + 1 ->
        e = 1;
        if
        :: rel[a] || (lead[b] && (age[a] >= lease[b] || ep[a] != led[b])) || (!lead[b] && ep[a] FORGET led[b]) ->
          age[a] = LEASE
        :: else
        fi
      :: else
      fi
    }
    if
    :: e == 0 && !lead[b] -> led[b] = 0
    :: else
    fi;
    if
    :: seen[b] != UNSEEN && (seen[b] == 0 -> written : ep[seen[b]]) >= EMAX -> obs[b] = 0
    :: else
    fi
  }
}

/* Electors are alike: which of them is in which condition makes no difference. */
#define KEY(x) (lead[x] + 2 * wk[x] + 6 * rdv[x] + 12 * rp[x] + 24 * cool[x] + \
  24 * T * (led[x] + (EMAX + 1) * (lease[x] + (T + 1) * (obs[x] + (WAIT + 1) * \
  ((nw[(x) * K] != 0) + 2 * (seen[x] == UNSEEN) + 4 * (seen[x] == store))))))

inline swap(x, y) { e = x; x = y; y = e }

inline sort_electors() {
  for (b : 1 .. N - 1) {
    a = N - 1;
    do
    :: a > 0 ->
      if
      :: KEY(a) < KEY(a - 1) ->
        swap(seen[a], seen[a - 1]); swap(obs[a], obs[a - 1]); swap(lease[a], lease[a - 1]);
        swap(led[a], led[a - 1]); swap(w[a], w[a - 1]); swap(wk[a], wk[a - 1]);
        swap(rd[a], rd[a - 1]); swap(cool[a], cool[a - 1]); swap(lead[a], lead[a - 1]);
        swap(rdv[a], rdv[a - 1]); swap(rp[a], rp[a - 1]);
        swap(nw[a * K], nw[(a - 1) * K]); swap(ex[a * K], ex[(a - 1) * K]);
#if K > 1
        swap(nw[a * K + 1], nw[(a - 1) * K + 1]); swap(ex[a * K + 1], ex[(a - 1) * K + 1]);
#endif
        for (j : 1 .. IDS - 1) {
          own[j] = (own[j] == a + 1 -> a : (own[j] == a -> a + 1 : own[j]))
        }
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
#ifndef NO_SYMMETRY
    sort_electors();
#endif
#if !defined(MUTANT_NO_CAS)
    drop_dead();
#endif
    names = 0;
    for (a : 0 .. IDS - 1) { map[a] = 0; own_[a] = own[a]; ep_[a] = ep[a]; rel_[a] = rel[a]; age_[a] = age[a] }
    rename(store);
    for (a : 0 .. N - 1) { rename(seen[a]); rename(w[a]); rename(rd[a]) }
    for (a : 0 .. N * K - 1) { rename(nw[a]); rename(ex[a]) }
    for (a : 1 .. IDS - 1) { own[a] = 0; ep[a] = 0; rel[a] = 0; age[a] = 0 }
    for (a : 1 .. IDS - 1) {
      if
      :: map[a] != 0 -> own[map[a]] = own_[a]; ep[map[a]] = ep_[a]; rel[map[a]] = rel_[a]; age[map[a]] = age_[a]
      :: else
      fi
    }
#ifdef MUTANT_WALL_CLOCK
    for (a : 1 .. IDS - 1) { real_[a] = real[a]; real[a] = 0 }
    for (a : 1 .. IDS - 1) {
      if
      :: map[a] != 0 -> real[map[a]] = real_[a]
      :: else
      fi
    }
#endif
    a = 0; b = 0; e = 0; id = 0; i = 0; j = 0; step = 0
  }
}

/* --- what an elector does ------------------------------------------------------------------------ */

/* Elector i is leader of the epoch of version `id` from now on. The two properties. */
inline become_leader() {
  j = 0;
  do
  :: j < N -> assert(j == i || !lead[j]); j++
  :: else -> break
  od;
  assert(ep[id] > epochs);
  epochs = ep[id];
  lead[i] = 1;
  led[i] = ep[id];
#ifdef MUTANT_LEASE_FROM_REPLY
  lease[i] = 0
#else
  lease[i] = age[id]
#endif
}

inline stop_leading() { lead[i] = 0; lease[i] = 0 }

/* Elector i learns that the lockfile is (or has just become) version `id`. */
inline learn() {
  if
  :: seen[i] != id ->
    seen[i] = id;
#ifndef MUTANT_KEEP_OBSERVATION
    obs[i] = 0;
#endif
#ifdef MUTANT_WALL_CLOCK
    obs[i] = (real[id] + 2 > WAIT -> WAIT : real[id] + 2);
#endif
  :: else
  fi;
  if
  :: lead[i] && (own[id] != i + 1 || ep[id] != led[i]) -> stop_leading()
  :: else
  fi;
  if
  :: own[id] == i + 1 && !rel[id] && lead[i] -> /* a renewal that has landed */
#ifdef MUTANT_LEASE_FROM_REPLY
    lease[i] = 0
#else
    lease[i] = (age[id] < lease[i] -> age[id] : lease[i])
#endif
  :: own[id] == i + 1 && !rel[id] && !lead[i] && age[id] < LEASE &&
#ifdef MUTANT_RESUME
     ep[id] >= led[i] -> become_leader()
#else
     ep[id] > led[i] -> become_leader() /* one's claim stands; too old, it is renewed first */
#endif
  :: else
  fi
}

/* Sends version `id`, to be put where seen[i] is. */
inline send(epoch, released) {
  j = i * K;
#if K > 1
  if
  :: nw[j] != 0 -> j++
  :: else
  fi;
#endif
  nw[j] = id; ex[j] = seen[i];
  own[id] = i + 1; ep[id] = epoch; rel[id] = released; age[id] = 0;
  w[i] = id; wk[i] = AWAITED;
  rd[i] = 0; rdv[i] = 0
}

/* A number for a new version: one that nobody refers to (canon has made the used ones 1, 2, ...). */
inline new_version() {
  id = 1;
  do
  :: id == store || ep[id] != 0 -> id++
  :: else -> break
  od
}

#if K > 1
#define CAN_SEND(x) (wk[x] == IDLE && (nw[(x) * K] == 0 || nw[(x) * K + 1] == 0))
#else
#define CAN_SEND(x) (wk[x] == IDLE && nw[x] == 0)
#endif

#define IS_OWN(x) (own[seen[x]] == (x) + 1)
#define MAY_TAKE_OVER(x) (!lead[x] && seen[x] != UNSEEN && \
  (obs[x] >= WAIT || (seen[x] != 0 && (IS_OWN(x) || rel[seen[x]]))))

inline next_epoch() { /* into e (rule 10); of a claim that was never led the epoch stands */
  if
  :: seen[i] == 0 -> e = written + 1
  :: seen[i] != 0 && IS_OWN(i) && !rel[seen[i]] && ep[seen[i]] > led[i] -> e = ep[seen[i]]
  :: else -> e = ep[seen[i]] + 1
  fi;
#ifdef MUTANT_SAME_EPOCH
  e = (seen[i] != 0 -> ep[seen[i]] : e)
#endif
}

inline elector() {
  if
  :: wk[i] == UNKNOWN || (wk[i] == IDLE && !lead[i] && store != seen[i]) ->
    /* a read takes its snapshot; one that would show nothing new is left out */
    rd[i] = store; rdv[i] = 1

  :: rdv[i] -> /* and its reply is received */
    id = rd[i];
#if WITNESS == 1
    assert(!(wk[i] == UNKNOWN && !lead[i] && own[id] == i + 1 && ep[id] > led[i] && age[id] < LEASE));
#endif
    rd[i] = 0; rdv[i] = 0; w[i] = 0; wk[i] = IDLE;
    learn()

  :: lead[i] && CAN_SEND(i) -> /* renewal: compare and swap on the last known version (rule 4) */
    new_version();
    send(led[i], 0)

  :: lead[i] && CAN_SEND(i) -> /* release: stop first, then write it (rule 11) */
    new_version();
#ifndef MUTANT_RELEASE_FIRST
    stop_leading();
#endif
    send(led[i], 1)

  :: MAY_TAKE_OVER(i) && CAN_SEND(i) ->
    next_epoch();
    if
    :: e <= EMAX ->
      written = (e > written -> e : written);
      new_version();
      send(e, 0)
    :: else
    fi

  :: wk[i] == AWAITED -> /* given up, the reply being lost or late; or refused, which is the same */
    rp[i] = 0;
#ifdef MUTANT_BLIND
    if
    :: lead[i] -> id = w[i]; w[i] = 0; wk[i] = IDLE; learn()
    :: else -> wk[i] = UNKNOWN; w[i] = 0
    fi
#else
    wk[i] = UNKNOWN; w[i] = 0
#endif

  :: rp[i] -> /* the reply is received */
    rp[i] = 0; id = w[i]; w[i] = 0; wk[i] = IDLE;
    learn()

#ifndef NO_CRASH
  :: epochs > 0 && (lead[i] || wk[i] != IDLE || seen[i] != UNSEEN) -> /* a crash and a new start */
    stop_leading();
    seen[i] = UNSEEN; obs[i] = 0; led[i] = 0; w[i] = 0; wk[i] = IDLE;
    rd[i] = 0; rdv[i] = 0; rp[i] = 0;
    for (j : 1 .. IDS - 1) {
      if
      :: own[j] == i + 1 -> own[j] = 0; age[j] = 0
      :: else
      fi
    }
#endif
  :: else
  fi
}

/* --- the network and the store -------------------------------------------------------------------- */

inline network() { /* i: a place for a message that is under way */
  if
  :: nw[i] != 0 -> /* lands: the store compares and swaps at one instant */
    if
#ifdef MUTANT_NO_CAS
    :: ep[nw[i]] > epochs || ex[i] == store ->
#else
    :: ex[i] == store ->
#endif
#if WITNESS == 2
      assert(wk[i / K] == AWAITED && w[i / K] == nw[i]);
#endif
      store = nw[i];
      if
      :: wk[i / K] == AWAITED && w[i / K] == nw[i] -> rp[i / K] = 1
      :: else
      fi
    :: else
    fi;
    nw[i] = 0; ex[i] = 0
  :: nw[i] != 0 -> nw[i] = 0; ex[i] = 0 /* is lost */
  :: else
  fi
}

/* --- time ------------------------------------------------------------------------------------------ */

/* Elector i's clock advances by `step`. Timers stop where nobody asks for more. */
inline advance() {
  d_step {
    for (j : 1 .. IDS - 1) {
      if
      :: own[j] == i + 1 -> age[j] = (age[j] + step > LEASE -> LEASE : age[j] + step)
      :: else
      fi
    }
    if
    :: lead[i] ->
      lease[i] = (lease[i] + step > LEASE -> LEASE : lease[i] + step);
#ifndef MUTANT_NO_SELF_STOP
      if
      :: lease[i] == LEASE -> stop_leading()
      :: else
      fi
#endif
    :: else
    fi;
    if
    :: !lead[i] && seen[i] != UNSEEN && (seen[i] == 0 || (own[seen[i]] != i + 1 && !rel[seen[i]])) ->
      obs[i] = (obs[i] + step > WAIT -> WAIT : obs[i] + step)
    :: else -> obs[i] = 0
    fi
  }
}

inline tick() {
#ifdef MUTANT_WALL_CLOCK
  for (j : 1 .. IDS - 1) { real[j] = (ep[j] != 0 && real[j] < WAIT -> real[j] + 1 : real[j]) }
#endif
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

#define KNOWS(x) (seen[x] != 0 && seen[x] != UNSEEN && !(rdv[x] && rd[x] == 0))
#if N == 2
#define ALL_KNOW (KNOWS(0) && KNOWS(1))
#else
#define ALL_KNOW (KNOWS(0) && KNOWS(1) && KNOWS(2))
#endif

inline remove() { /* by hand */
  e = 0;
#if DELETE == 1
  if
  :: ALL_KNOW ->
    for (j : 0 .. N * K - 1) {
      if
      :: nw[j] != 0 && ex[j] == 0 -> e = 1
      :: else
      fi
    }
  :: else -> e = 1
  fi;
#endif
  if
  :: e == 0 -> deleted = 1; store = 0
  :: else
  fi
}

init {
  d_step {
    for (i : 0 .. N - 1) { seen[i] = UNSEEN }
    i = 0
  }
  do
  :: atomic {
      epochs < EMAX -> /* what follows the last leadership is like what followed the ones before */
      if
      :: tick()
      :: pick(N); elector()
      :: pick(N * K); network()
#if DELETE > 0
      :: store != 0 && !deleted -> remove()
#endif
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
