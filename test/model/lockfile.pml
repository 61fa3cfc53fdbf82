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
 *                    epoch, released. age: how long ago its owner, by its clock, sent that write
 *   first            CREATED: a claim over absence; RENEWED: the same, renewed
 *   seen, obs        an elector's view of the lockfile, and since the receipt of the first reply
 *                    that showed it (rule 3); UNSEEN: it knows nothing yet
 *   lead, lease      it is leader; time since the send of the last write confirmed to have landed.
 *                    The tick that completes the lease ends leadership: is_leader is a comparison
 *                    with the clock (rule 7), whether or not the elector gets to run
 *   stood            since the receipt of the first reply that showed its claim over absence. Absence
 *                    tells nothing: the lockfile may have been removed under a leader. So such a
 *                    claim is made at once, but led (and released) only after it has stood for as
 *                    long as an observation takes: whoever led before cannot renew meanwhile
 *   told             it was leader after the last step (see judge)
 *   led              the highest epoch that this incarnation has led
 *   top              the highest epoch that it has seen
 *   w, wk            its write under way: AWAITED, or UNKNOWN when it gave up or was refused: then
 *                    it must read the record back before it writes again (rules 5 and 6)
 *   rdv, rd, rp      a read has taken its snapshot, rd; the reply to the write is on its way
 *   nw, ex           writes on their way to the store, K for each elector: version and If-Match.
 *                    They land late, or never, whatever their sender does, crash included
 *
 *   landed           the highest epoch that was ever in the store. The store's time lies beyond it; over
 *                    absence and over first claims, which may be late, epochs come from there (rule 10)
 *
 * Not in here: wall clocks and the store-clock shortcut, peers (they extend nothing), the grace
 * period (it only delays), the retry schedule (any schedule is possible), the quoting of ETags.
 *
 * DELETE: the lockfile is removed by hand. A create that lands late, after the removal, carries an
 * epoch from before that of the leader who was orphaned. So a claim over absence is never led, but
 * replaced by its own maker, once it has stood, by a claim under a new epoch (MUTANT_CLAIM_LED shows
 * the epoch that does not grow without that rule).
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
#define DELETE 0 /* how often the lockfile is removed by hand */
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
#define CREATED 2
#define RENEWED 1

#ifdef MUTANT_RESUME
#define FORGET <
#else
#define FORGET <=
#endif

byte store;
byte own[IDS], ep[IDS], age[IDS], first[IDS];
bit rel[IDS];

byte seen[N], obs[N], lease[N], led[N], w[N], wk[N], rd[N], cool[N], stood[N], top[N];
bit lead[N], rdv[N], rp[N], told[N];
byte nw[N * K], ex[N * K];

byte epochs; /* the highest epoch that was ever led */
byte landed, deleted;
byte i, j, id, e, step;

#if defined(MUTANT_CLAIM_LED) || defined(MUTANT_LEAD_FIRST)
#define MAY_BE_LED(x) true
#else
#define MAY_BE_LED(x) (!first[x] || rel[x])
#endif
#define LEADS(x) (lead[x] && stood[x] == WAIT)

#ifdef MUTANT_WALL_CLOCK
byte real[IDS]; /* real age of a write: what wall clocks show, the observer's being two ahead */
#endif

/* --- states that differ in what makes no difference are one state ---------------------------------- */

hidden byte map[IDS + 1], names, a, b;
hidden byte own_[IDS], ep_[IDS], rel_[IDS], age_[IDS], first_[IDS];
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

/* A write that can never be carried out, as its ETag is gone for good (absence may come again), is
 * as good as lost: its sender gives up on it, at any time, and learns as much as from a refusal. */
inline drop_dead() {
  for (a : 0 .. N * K - 1) {
    if
    :: nw[a] != 0 && ex[a] != store && (ex[a] != 0 || deleted == DELETE) ->
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
    :: e == 0 && !lead[b] -> led[b] = 0; stood[b] = WAIT
    :: else
    fi;
#if DELETE == 0
    top[b] = 0;
#endif
    if
    :: seen[b] != UNSEEN && seen[b] != 0 && ep[seen[b]] >= EMAX -> obs[b] = 0
    :: else
    fi
  }
}

/* Electors are alike: which of them is in which condition makes no difference. */
#define KEY(x) (lead[x] + 2 * wk[x] + 6 * rdv[x] + 12 * rp[x] + 24 * cool[x] + \
  24 * T * (stood[x] + (WAIT + 1) * (led[x] + (EMAX + 1) * (lease[x] + (T + 1) * (obs[x] + (WAIT + 1) * \
  ((nw[(x) * K] != 0) + 2 * (seen[x] == UNSEEN) + 4 * (seen[x] == store)))))))

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
        swap(rdv[a], rdv[a - 1]); swap(rp[a], rp[a - 1]); swap(stood[a], stood[a - 1]);
        swap(top[a], top[a - 1]); swap(told[a], told[a - 1]);
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
    for (a : 0 .. IDS - 1) {
      map[a] = 0;
      own_[a] = own[a]; ep_[a] = ep[a]; rel_[a] = rel[a]; age_[a] = age[a]; first_[a] = first[a];
      own[a] = 0; ep[a] = 0; rel[a] = 0; age[a] = 0; first[a] = 0
    }
    rename(store);
    for (a : 0 .. N - 1) { rename(seen[a]); rename(w[a]); rename(rd[a]) }
    for (a : 0 .. N * K - 1) { rename(nw[a]); rename(ex[a]) }
    for (a : 1 .. IDS - 1) {
      if
      :: map[a] != 0 ->
        b = map[a];
        own[b] = own_[a]; ep[b] = ep_[a]; rel[b] = rel_[a]; age[b] = age_[a]; first[b] = first_[a]
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

/* Elector i has the lease of its claim, version `id`. */
inline claim() {
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
    top[i] = (ep[id] > top[i] -> ep[id] : top[i]);
#ifndef MUTANT_LEAD_FIRST
    stood[i] = (own[id] == i + 1 && first[id] == CREATED -> 0 : stood[i]);
#endif
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
  :: own[id] == i + 1 && !rel[id] && !lead[i] && age[id] < LEASE && ep[id] >= top[i] && MAY_BE_LED(id) &&
#ifdef MUTANT_RESUME
     ep[id] >= led[i] -> claim()
#else
     ep[id] > led[i] -> claim() /* one that is too old is renewed first */
#endif
  :: else
  fi
}

/* Sends version `id`, to be put where seen[i] is. */
inline send(epoch, released, kind) {
  j = i * K;
#if K > 1
  if
  :: nw[j] != 0 -> j++
  :: else
  fi;
#endif
  nw[j] = id; ex[j] = seen[i];
  own[id] = i + 1; ep[id] = epoch; rel[id] = released; first[id] = kind; age[id] = 0;
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
  (seen[x] == 0 || (IS_OWN(x) && (MAY_BE_LED(seen[x]) || stood[x] == WAIT)) || rel[seen[x]] || \
   obs[x] >= WAIT))
#define CLAIM_GOES_ON(x) (IS_OWN(x) && !rel[seen[x]] && ep[seen[x]] > led[x] && \
  ep[seen[x]] >= top[x] && MAY_BE_LED(seen[x]) && stood[x] == WAIT)

inline next_epoch() { /* into e (rule 10); of a claim that was never led the epoch stands */
  e = (top[i] > ep[seen[i]] -> top[i] : ep[seen[i]]) + 1;
  if
  :: seen[i] == 0 || (first[seen[i]] && !rel[seen[i]]) -> e = (landed + 1 > e -> landed + 1 : e)
  :: else
  fi;
  e = (CLAIM_GOES_ON(i) -> ep[seen[i]] : e);
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
    send(led[i], 0, (first[seen[i]] -> RENEWED : 0))

  :: LEADS(i) && CAN_SEND(i) -> /* release: stop first, then write it (rule 11) */
    new_version();
#ifndef MUTANT_RELEASE_FIRST
    stop_leading();
#endif
    send(led[i], 1, 0)

  :: MAY_TAKE_OVER(i) && CAN_SEND(i) ->
    next_epoch();
    if
    :: e <= EMAX ->
      step = (seen[i] == 0 -> CREATED : (CLAIM_GOES_ON(i) && first[seen[i]] -> RENEWED : 0));
      new_version();
      send(e, 0, step)
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
    seen[i] = UNSEEN; obs[i] = 0; led[i] = 0; top[i] = 0; stood[i] = WAIT; w[i] = 0; wk[i] = IDLE;
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
      landed = (ep[store] > landed -> ep[store] : landed);
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
    stood[i] = (stood[i] + step > WAIT -> WAIT : stood[i] + step);
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
    :: !lead[i] && seen[i] != UNSEEN && seen[i] != 0 && own[seen[i]] != i + 1 && !rel[seen[i]] ->
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

/* The two properties, after every step: nobody leads beside another, and who begins to lead does so
 * under a higher epoch than anybody before. */
inline judge() {
  d_step {
    for (i : 0 .. N - 1) {
      if
      :: LEADS(i) && !told[i] ->
        for (j : 0 .. N - 1) { assert(j == i || !LEADS(j)) }
        assert(led[i] > epochs);
        epochs = led[i]
      :: else
      fi;
      told[i] = LEADS(i)
    }
  }
}

init {
  d_step {
    for (i : 0 .. N - 1) { seen[i] = UNSEEN; stood[i] = WAIT }
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
      :: store != 0 && deleted < DELETE -> deleted++; store = 0
#endif
      fi;
      judge();
      canon()
    }
  :: epochs == EMAX ->
#if WITNESS == 3
    assert(false);
#endif
    break
  od
}
