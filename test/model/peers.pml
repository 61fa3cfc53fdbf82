/* peers.pml: design rule 9, for spin: with the lockfile, what a leader tells a follower may end the
 * follower's wait. Does it ever make a second leader? Time and clocks are those of lockfile.pml; a read
 * and its reply are one step, and so are the landing of a write and its reply, as in files.pml.
 *
 * What stands for what
 *   now_v, sown, sep, srel, sage   the version that stands in the store: by whom, epoch, released, how long ago
 *                   its writer sent it. A later version has a higher number; canon keeps their order
 *   vv, v...        an elector's view; obs: since it was first seen; due: to the end of a promise about it
 *   succ, first     whom the release in view names (plus 1; 0: nobody); others go later by a head start
 *   mk, m...        its write on its way, to be put where version mv is
 *   told, pv, p...  a promise on its way to elector told - 1: the version it is about, by whom, of which
 *                   epoch, and the validity left when it was given. It counts from its receipt
 * -DMUTANT_... breaks one rule; -DWITNESS=n asserts that a situation is never met (see run.sh). */
#ifndef N
#define N 2
#endif
#ifndef T
#define T 3
#endif
#ifndef EMAX
#define EMAX 3 /* epochs; the first is that of a leader who has died */
#endif
#ifndef WITNESS
#define WITNESS 0
#endif
#ifdef EXACT
#define NO_DRIFT
#define LEASE T
#define WAIT T
#else
#define LEASE (T - 1)
#define WAIT (T + 1)
#endif
#define HEAD 1
#define NO_PROMISE 15
/* How long a follower waits for `left` units of a leader's clock to be over: each clock may be wrong by one. */
#if defined(EXACT) || defined(MUTANT_PROMISE_NO_DRIFT)
#define OUTLAST(left) (left)
#else
#define OUTLAST(left) ((left) + 2)
#endif

#define UNSEEN 0
#define IDLE 0
#define AWAITED 1
#define UNKNOWN 2

byte now_v, sown, sep, sage, ssucc;
bit srel;
byte vv[N], vby[N], vep[N], vage[N], obs[N], due[N], succ[N], lease[N], led[N], wk[N], cool[N];
bit vrel[N], lead[N];
byte mv[N], mep[N], mage[N], msucc[N];
bit mk[N], mrel[N], mdead[N];
byte told, pv, pby, pep, pleft;
byte epochs, i, j, x, step;
hidden byte a, b, top;

#define OWN(y) (vby[y] == y + 1)

#ifdef MUTANT_NO_CAS
#define COMPARES false
#else
#define COMPARES true
#endif

/* Versions that are remembered keep their order, and are numbered from 1. */
inline canon() {
  d_step {
    for (a : 0 .. N - 1) {
      if
      :: !mk[a] -> mv[a] = 0; mep[a] = 0; mage[a] = 0; msucc[a] = 0; mrel[a] = 0; mdead[a] = 0
      :: mk[a] && mv[a] != now_v && COMPARES -> mk[a] = 0; mv[a] = 0; mep[a] = 0; mage[a] = 0; msucc[a] = 0; mrel[a] = 0; mdead[a] = 0
      :: else
      fi;
      if
      :: !OWN(a) || vrel[a] -> vage[a] = LEASE
      :: else
      fi;
      if
      :: lead[a] || (OWN(a) && !vrel[a]) || vv[a] == UNSEEN -> obs[a] = 0; due[a] = NO_PROMISE
      :: else
      fi
    }
    if
    :: srel || sown == 0 -> sage = LEASE
    :: else
    fi;
    x = 0; top = 1;
    do
    :: x < 4 * N + 4 ->
      x++;
      b = (now_v == x || pv == x);
      for (a : 0 .. N - 1) { b = (vv[a] == x || mv[a] == x -> 1 : b) }
      if
      :: b ->
        now_v = (now_v == x -> top : now_v); pv = (pv == x -> top : pv);
        for (a : 0 .. N - 1) { vv[a] = (vv[a] == x -> top : vv[a]); mv[a] = (mv[a] == x -> top : mv[a]) }
        top++
      :: else
      fi
    :: else -> break
    od;
    a = 0; b = 0; x = 0; i = 0; j = 0; step = 0; top = 0
  }
}

inline stop_leading() { lead[i] = 0; lease[i] = 0 }

/* Its view is a record of its own, that is not released. */
inline resolve() {
  if
  :: lead[i] && !(OWN(i) && vep[i] == led[i] && !vrel[i]) -> stop_leading()
  :: lead[i] && OWN(i) && vep[i] == led[i] && !vrel[i] -> lease[i] = (vage[i] < lease[i] -> vage[i] : lease[i])
  :: !lead[i] && OWN(i) && !vrel[i] && vep[i] > led[i] && vage[i] < LEASE ->
    for (j : 0 .. N - 1) { assert(j == i || !lead[j]) }
    assert(vep[i] > epochs);
    epochs = vep[i]; lead[i] = 1; led[i] = vep[i]; lease[i] = vage[i]
  :: else
  fi
}

inline look() { /* the store's word */
  if
  :: vv[i] != now_v ->
    vv[i] = now_v; vby[i] = sown; vep[i] = sep; vrel[i] = srel; succ[i] = ssucc; vage[i] = (sown == i + 1 -> sage : LEASE);
    obs[i] = 0; due[i] = NO_PROMISE
  :: else
  fi;
  wk[i] = IDLE;
  resolve()
}

inline send(epoch, released, successor) {
  mk[i] = 1; mv[i] = vv[i]; mep[i] = epoch; mrel[i] = released; msucc[i] = successor; mage[i] = 0; mdead[i] = 0;
  wk[i] = AWAITED
}

#define CAN_SEND(y) (wk[y] == IDLE && !mk[y] && vv[y] != UNSEEN)
#define IS_LEGAL(y) (vrel[y] -> (succ[y] == 0 || succ[y] == y + 1 || obs[y] >= HEAD) : \
  (OWN(y) || obs[y] >= WAIT || due[y] == 0))

inline elector() {
  if
  :: wk[i] != AWAITED && (vv[i] != now_v || wk[i] == UNKNOWN) -> look()
  :: lead[i] && CAN_SEND(i) -> send(led[i], 0, 0)
  :: lead[i] && CAN_SEND(i) -> stop_leading(); send(led[i], 1, 0)
  :: lead[i] && CAN_SEND(i) -> x = (i + 1) % N + 1; stop_leading(); send(led[i], 1, x) /* a transfer */
  :: !lead[i] && CAN_SEND(i) && IS_LEGAL(i) ->
    x = (OWN(i) && vep[i] > led[i] && !vrel[i] -> vep[i] : vep[i] + 1);
    if
    :: x <= EMAX ->
#if WITNESS == 1
      assert(vrel[i] || OWN(i) || obs[i] >= WAIT);
#endif
#if WITNESS == 4
      assert(!(vrel[i] && succ[i] == i + 1));
#endif
#if WITNESS == 5
      assert(!(vrel[i] && succ[i] != 0 && succ[i] != i + 1));
#endif
      send(x, 0, 0)
    :: else
    fi
  :: wk[i] == AWAITED -> wk[i] = UNKNOWN
#ifndef NO_CRASH
  :: vv[i] != UNSEEN ->
    stop_leading();
    vv[i] = UNSEEN; vby[i] = 0; vep[i] = 0; vrel[i] = 0; succ[i] = 0; vage[i] = LEASE; obs[i] = 0; due[i] = NO_PROMISE;
    led[i] = 0; wk[i] = IDLE;
    sown = (sown == i + 1 -> 0 : sown);
    for (j : 0 .. N - 1) { vby[j] = (vby[j] == i + 1 -> N + 1 : vby[j]) }
    pby = (pby == i + 1 -> N + 1 : pby);
    mdead[i] = mk[i]
#endif
  :: else
  fi
}

inline network() {
  if
  :: mk[i] ->
    if
#ifdef MUTANT_NO_CAS
    :: mv[i] == now_v || mep[i] > epochs ->
#else
    :: mv[i] == now_v ->
#endif
#if WITNESS == 2
      assert(wk[i] == AWAITED);
#endif
      x = now_v;
      for (j : 0 .. N - 1) { x = (vv[j] > x -> vv[j] : x) }
      x = (pv > x -> pv : x);
      now_v = x + 1; sown = (mdead[i] -> N + 1 : i + 1); sep = mep[i]; srel = mrel[i]; ssucc = msucc[i]; sage = mage[i];
      if
      :: wk[i] == AWAITED && !mdead[i] -> mk[i] = 0; look()
      :: mk[i] = 0
      fi
    :: else -> mk[i] = 0
    fi
  :: mk[i] -> mk[i] = 0
  :: else
  fi
}

/* --- peers ------------------------------------------------------------------------------------------- */

inline tell() { /* elector i, of the last write of its own that it knows to have landed */
  if
  :: lead[i] ->
    told = (i + 1) % N + 1; pv = vv[i]; pby = i + 1; pep = led[i]; pleft = LEASE - lease[i]
#ifdef MUTANT_HINT_IS_PROMISE
  :: told = i + 1; pv = vv[i]; pby = vby[i]; pep = vep[i]; pleft = 0 /* by whoever stands in between */
#endif
  :: else
  fi
}

inline hear() { /* elector i */
  if
#ifdef MUTANT_PROMISE_OF_ANOTHER
  :: !lead[i] && wk[i] == IDLE && vv[i] != UNSEEN && !vrel[i] && !OWN(i) && (vby[i] != pby || vep[i] != pep) ->
    due[i] = (OUTLAST(pleft) < due[i] -> OUTLAST(pleft) : due[i])
#endif
#ifdef MUTANT_PROMISE_OF_BEFORE
  :: !lead[i] && wk[i] == IDLE && vv[i] != UNSEEN && vby[i] == pby && vep[i] == pep && !vrel[i] && pv < vv[i] ->
    due[i] = (OUTLAST(pleft) < due[i] -> OUTLAST(pleft) : due[i])
#endif
  :: !lead[i] && wk[i] == IDLE && vv[i] != UNSEEN && vby[i] == pby && vep[i] == pep && !vrel[i] && pv >= vv[i] ->
    if
    :: pv > vv[i] -> /* a later write: as good as a read */
#if WITNESS == 6
      assert(false);
#endif
      vv[i] = pv; obs[i] = 0; due[i] = NO_PROMISE
    :: else
    fi;
    due[i] = (OUTLAST(pleft) < due[i] -> OUTLAST(pleft) : due[i])
  :: else
  fi;
  told = 0; pv = 0; pby = 0; pep = 0; pleft = 0
}

/* --- time ---------------------------------------------------------------------------------------------- */

#define LATER(t, limit) t = (t + step > limit -> limit : t + step)

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
    cool[i] = (step != 1 -> T - 1 : (cool[i] > 0 -> cool[i] - 1 : 0));
    if
    :: sown == i + 1 -> LATER(sage, LEASE)
    :: else
    fi;
    LATER(mage[i], LEASE);
    LATER(vage[i], LEASE);
    LATER(obs[i], WAIT);
    due[i] = (due[i] == NO_PROMISE -> NO_PROMISE : (due[i] > step -> due[i] - step : 0));
    if
    :: lead[i] ->
      LATER(lease[i], LEASE);
      if
      :: lease[i] == LEASE -> stop_leading()
      :: else
      fi
    :: else
    fi;
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
    for (i : 0 .. N - 1) { due[i] = NO_PROMISE; vage[i] = LEASE }
    now_v = 1; sep = 1; sown = N + 1; sage = LEASE; epochs = 1; i = 0
  }
  do
  :: atomic {
      epochs < EMAX ->
      if
      :: tick()
      :: pick(N); elector()
      :: pick(N); network()
      :: told == 0 -> pick(N); tell()
      :: told != 0 -> i = told - 1; hear()
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
