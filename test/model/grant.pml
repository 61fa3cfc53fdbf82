/* grant.pml: handing leadership over in one write (src/core/grant.h), for spin. A leader that has
 * resigned writes what a follower said with its question in place of its release. Is there ever a second
 * leader? Does an epoch ever come twice? Time and clocks are those of lockfile.pml; a read and its reply
 * are one step, and so are the landing of a write and its reply, as in peers.pml.
 *
 * What stands for what
 *   store           the present version. A version is the number of one body: incarnation and write number
 *                   make each unique. Numbers that nobody remembers are used again (canon)
 *   own, ep, rel    what the body of a version says: by whom (0: by an incarnation that has died, or
 *                   released), epoch, released
 *   age             time since its owner, by its clock, sent that write, or the question that said it
 *   seen, obs       an elector's view of the store (0: it knows nothing), and since when it has it
 *   lead, lease     it is leader; time since the sending of the last write that it knows to be applied
 *   led             the highest epoch that this incarnation has led
 *   left            it leaves: it asks, leads and takes over no more, but releases what is granted to it
 *   nw, awaits      its write on its way, a version of its own or another's candidacy, and that it awaits the
 *                   reply. The compare-and-swap is that the writes on their way are dropped when the store
 *                   changes, and that none is sent by whoever has not seen the present version
 *   question        the candidacy of an elector that a leader may grant. A later one replaces it; one that
 *                   is lost is one that is never granted
 *   answer          the version that an answer on its way to its owner names as applied
 * A follower may ask any number of times, and anybody who has seen a granted record may answer. A write
 * that was given up lands or is lost before its sender writes again; and what an answer tells of the
 * leader's validity is left to peers.pml.
 * -DMUTANT_... breaks one rule; -DWITNESS=n asserts that a situation is never met (see run.sh). */
#ifndef N
#define N 2
#endif
#ifndef T
#define T 3
#endif
#ifndef EMAX
#define EMAX 3 /* epochs; the first is that of elector 0, which leads at the start */
#endif
#ifndef WITNESS
#define WITNESS 0
#endif
#ifdef EXACT
#define NO_DRIFT
#endif
#if defined(EXACT) || defined(MUTANT_NO_MARGIN)
#define LEASE T
#define WAIT T
#else
#define LEASE (T - 1)
#define WAIT (T + 1)
#endif

#define IDS (3 * N + 4) /* versions that can be referred to at once, a new one, and 0 */

byte store, answer;
byte own[IDS], ep[IDS], age[IDS];
bit rel[IDS];
byte seen[N], obs[N], lease[N], led[N], cool[N], nw[N], question[N];
bit lead[N], left[N], awaits[N];
byte epochs, i, j, id, step;
#if WITNESS
bit granted; /* what stands in the store was put there by another than its owner */
#endif

#define OWN(y) (own[seen[y]] == y + 1)
#define CLAIMS(y) (OWN(y) && !rel[seen[y]])
#define MAY_LEAD(y, v) (own[v] == y + 1 && !rel[v] && !left[y] && ep[v] > led[y] && age[v] < LEASE)

/* --- states that differ in what makes no difference are one state ---------------------------------- */

hidden byte map[IDS], own_[IDS], ep_[IDS], rel_[IDS], age_[IDS];
hidden byte a, b, names;

inline forget() {
  for (a : 1 .. IDS - 1) {
    own[a] = (rel[a] -> 0 : own[a]);
    if
    :: own[a] == 0 -> age[a] = 0
    :: own[a] != 0 && !lead[own[a] - 1] && (ep[a] <= led[own[a] - 1] || left[own[a] - 1]) -> age[a] = LEASE
    :: own[a] != 0 && a == seen[own[a] - 1] && a != store -> age[a] = LEASE
    :: else
    fi
  }
  for (a : 0 .. N - 1) {
#ifndef MUTANT_OLD_QUESTION
    question[a] = (ep[question[a]] <= ep[store] -> 0 : question[a]);
#endif
    obs[a] = (seen[a] != store || OWN(a) || rel[store] || left[a] -> 0 : obs[a]);
    awaits[a] = awaits[a] && nw[a] != 0
  }
  if
  :: answer != 0 && own[answer] == 0 -> answer = 0
  :: answer != 0 && own[answer] != 0 && ep[seen[own[answer] - 1]] >= ep[answer] -> answer = 0
  :: else
  fi
}

/* The versions that are remembered are numbered in the order in which they are met. */
inline rename(x) {
  if
  :: x != 0 && map[x] == 0 -> names++; map[x] = names
  :: else
  fi;
  x = map[x]
}

inline canon() {
  d_step {
    forget();
    names = 0;
    for (a : 0 .. IDS - 1) {
      map[a] = 0; own_[a] = own[a]; ep_[a] = ep[a]; rel_[a] = rel[a]; age_[a] = age[a];
      own[a] = 0; ep[a] = 0; rel[a] = 0; age[a] = 0
    }
    rename(store); rename(answer);
    for (a : 0 .. N - 1) { rename(seen[a]); rename(nw[a]); rename(question[a]) }
    for (a : 1 .. IDS - 1) {
      b = map[a];
      if
      :: b != 0 -> own[b] = own_[a]; ep[b] = ep_[a]; rel[b] = rel_[a]; age[b] = age_[a]
      :: else
      fi
    }
    a = 0; b = 0; names = 0; id = 0; i = 0; j = 0; step = 0
  }
}

/* --- what an elector does ------------------------------------------------------------------------ */

inline stop_leading() { lead[i] = 0; lease[i] = 0 }

inline begin_leading() { /* elector i, by its version id */
  for (j : 0 .. N - 1) { assert(j == i || !lead[j]) }
  assert(ep[id] > epochs);
  epochs = ep[id]; lead[i] = 1; led[i] = ep[id]; lease[i] = age[id]
}

inline learn() { /* elector i, that version id has been applied */
  if
  :: seen[i] != id -> seen[i] = id; obs[i] = 0
  :: else
  fi;
  if
  :: lead[i] && !(CLAIMS(i) && ep[id] == led[i]) -> stop_leading()
  :: lead[i] && CLAIMS(i) && ep[id] == led[i] -> lease[i] = (age[id] < lease[i] -> age[id] : lease[i])
  :: !lead[i] && MAY_LEAD(i, id) -> begin_leading()
  :: else
  fi
}

inline look() {
#if WITNESS == 2
  assert(!(granted && !lead[i] && MAY_LEAD(i, store)));
#endif
  id = store; awaits[i] = 0;
  learn()
}

inline new_version(epoch, released) {
  id = 1;
  do
  :: ep[id] != 0 -> id++
  :: else -> break
  od;
  own[id] = i + 1; ep[id] = epoch; rel[id] = released; age[id] = 0
}

inline send() { nw[i] = id; awaits[i] = 1 }

inline grant() { /* elector i has resigned: the candidacy of another in place of the release */
  j = 0;
  do
  :: j < N - 1 -> j++
  :: break
  od;
  id = question[j];
  if
#ifdef MUTANT_OLD_QUESTION
  :: j != i && id != 0 -> send()
#else
  :: j != i && id != 0 && ep[id] == led[i] + 1 -> send()
#endif
  :: else
  fi
}

inline ask() { /* elector i asks the leader that it sees: each question has a write number of its own */
#ifdef MUTANT_NUMBER_KEPT
  id = 1;
  do
  :: id < IDS - 1 && !(own[id] == i + 1 && ep[id] == ep[seen[i]] + 1 && id != nw[i]) -> id++
  :: else -> break
  od;
  if
  :: own[id] == i + 1 && ep[id] == ep[seen[i]] + 1 && id != nw[i] -> age[id] = 0
  :: else -> new_version(ep[seen[i]] + 1, 0)
  fi;
#else
  new_version(ep[seen[i]] + 1, 0);
#endif
  question[i] = id
}

#define CAN_SEND(y) (nw[y] == 0 && seen[y] == store)
#define IS_LEGAL(y) (rel[seen[y]] || OWN(y) || obs[y] >= WAIT)
#define FOLLOWS(y) (!lead[y] && !left[y] && seen[y] != 0 && !OWN(y) && !rel[seen[y]])
#ifdef MUTANT_GRANT_FIRST
#define MAY_GRANT(y) true
#else
#define MAY_GRANT(y) (!lead[y])
#endif

inline elector() {
  if
  :: !awaits[i] && seen[i] != store -> look()
  :: lead[i] && CAN_SEND(i) && CLAIMS(i) -> new_version(led[i], 0); send() /* a renewal */
  :: lead[i] -> stop_leading() /* resigns; writes its release, or a grant, then or later */
  :: CLAIMS(i) && !lead[i] && CAN_SEND(i) ->
#if WITNESS == 5
    assert(!(granted && left[i]));
#endif
    new_version(ep[seen[i]], 1); send()
  :: CLAIMS(i) && MAY_GRANT(i) && CAN_SEND(i) && ep[seen[i]] == led[i] -> grant()
  :: FOLLOWS(i) && ep[seen[i]] < EMAX -> ask()
  :: !lead[i] && !left[i] && CAN_SEND(i) && IS_LEGAL(i) ->
    step = (CLAIMS(i) && ep[seen[i]] > led[i] -> ep[seen[i]] : ep[seen[i]] + 1);
    if
    :: step <= EMAX ->
#if WITNESS == 4
      assert(!granted || OWN(i) || own[store] == 0);
#endif
      new_version(step, 0); send()
    :: else
    fi
#ifdef MUTANT_UNCONFIRMED
  :: FOLLOWS(i) && question[i] != 0 && own[seen[i]] != 0 && !lead[own[seen[i]] - 1] && MAY_LEAD(i, question[i]) ->
    lead[i] = 1; led[i] = ep[question[i]]; lease[i] = age[question[i]] /* "not leading" */
#endif
  :: awaits[i] -> awaits[i] = 0
  :: !lead[i] && !left[i] -> left[i] = 1; question[i] = 0 /* leaves, and its leader is told */
  :: !lead[i] && !left[i] && question[i] != 0 -> left[i] = 1 /* or is not */
#ifndef NO_CRASH
  :: seen[i] != 0 -> /* a crash, or the end, and a new start */
    stop_leading();
    seen[i] = 0; obs[i] = 0; led[i] = 0; left[i] = 0; awaits[i] = 0;
    for (j : 1 .. IDS - 1) { own[j] = (own[j] == i + 1 -> 0 : own[j]) }
#endif
  :: else
  fi
}

/* --- the network and the store -------------------------------------------------------------------- */

inline network() {
  if
  :: nw[i] != 0 -> /* is applied, whatever became of its sender */
#if WITNESS
    granted = own[nw[i]] != i + 1;
#endif
#if WITNESS == 6
    assert(!granted || awaits[i]);
#endif
    store = nw[i];
    for (j : 0 .. N - 1) {
#ifdef MUTANT_NO_CAS
      nw[j] = (j != i && own[nw[j]] != j + 1 -> nw[j] : 0)
#else
      nw[j] = 0
#endif
    }
    if
    :: awaits[i] -> look()
    :: else
    fi
  :: nw[i] != 0 -> nw[i] = 0
  :: answer == 0 && seen[i] != 0 && own[seen[i]] != 0 && !OWN(i) -> answer = seen[i]
  :: else
  fi
}

inline hear() { /* elector i */
  if
  :: seen[i] != 0 && !lead[i] && !OWN(i) && !awaits[i] && ep[answer] == ep[seen[i]] + 1 ->
#if WITNESS == 1
    assert(!MAY_LEAD(i, answer));
#endif
#ifdef MUTANT_LEASE_FROM_ANSWER
    age[answer] = 0;
#endif
    id = answer;
    learn()
  :: else
  fi;
  answer = 0
}

/* --- time ------------------------------------------------------------------------------------------ */

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
    for (j : 1 .. IDS - 1) {
      if
      :: own[j] == i + 1 -> LATER(age[j], LEASE)
      :: else
      fi
    }
    LATER(obs[i], WAIT);
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
    store = 1; own[1] = 1; ep[1] = 1; epochs = 1; lead[0] = 1; led[0] = 1;
    for (i : 0 .. N - 1) { seen[i] = 1 }
    i = 0
  }
  do
  :: atomic {
      epochs < EMAX ->
      if
      :: tick()
      :: pick(N); elector()
      :: pick(N); network()
      :: answer != 0 -> i = own[answer] - 1; hear()
      :: answer != 0 -> answer = 0
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
