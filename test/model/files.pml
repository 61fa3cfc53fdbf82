/* files.pml: the epoch-file protocol once more, for spin: what epochs.pml leaves out. Which number the
 * next file gets, what a leader's validity owes to its listings, what is claimed over absence, what an
 * elector finds out about the file over which it created its own; files that are swept, deleted, damaged
 * or made by hand. Is there ever a second leader? Does an epoch ever come twice?
 *
 * Time and clocks are those of lockfile.pml. Numbers go up to F. A read and its reply are one step here,
 * and so are the landing of a write and its reply, if there is one: whoever is answered sooner may do
 * all that it might do later, and more (what a reply's delay may break is what epochs.pml is for). A
 * listing and the reading of the highest file are one step, too; a read by key alone comes in between.
 *
 * What stands for what
 *   there, fown, fex   of each number: there is a file; by whom (0: by nobody who lives), expired,
 *   fage, fyoung       how long ago, by its writer's clock, it was sent; real time since it landed,
 *   fcl, fun, ffo      a claim over absence (first of its line), not to be led by its own maker, by nobody
 *   seen, led          the highest number that an elector has seen, and that it has led
 *   ve, v...           its view: a number, 0 for absence, UNSEEN; and what stood in that file. vage: how
 *                      long ago it was sent, of a file of its own
 *   intact, obs, sure  as in epochs.pml
 *   clean              since the sending of the last listing that showed no file above the view
 *   watched, gap       how long it has looked without a gap in which a file could have come and gone;
 *                      there has been one
 *   base, bi           over which file it created its own last, and whether that still is what it was
 *                      (0: over none, or one that is not numbered one lower, as a claim)
 *   taken              a file of the highest number that it has seen was another's
 *   checked, orphaned    it was, or it was not, when its own had landed
 *   lease              since the sending of the last write, or the last clean listing if that is longer ago
 *   wk, wnum           the write under way (AWAITED), or given up (UNKNOWN), and to which file
 *   mk, me, m...       writes on their way, as in epochs.pml; sw: a removal on its way
 *   landed, lost       the highest number that there ever was, and when files were deleted last
 *   secs               the store's time, which is beyond: where numbers of claims over absence come from
 *
 * What is assumed (docs/safety.md): who has not looked while a file that was deleted stood has a gap; and
 * when less than there was before is left or comes back, by hand or by a write that lands late, somebody
 * who has seen more looks, so soon that others see what he made of it before they have watched for a
 * whole leader timeout (OLD_IS_BACK).
 *
 * DELETE_SOON: not that: all may be deleted before an elector had time to look.
 * DELETE, HAND: how often one or all files are deleted by hand; one is damaged, or made above all others.
 * LAG: new files show in listings only after up to a leader timeout. SWEEP: leaders remove old files.
 * PROMISE: leaders tell others how long they are valid (files-promise.pml).
 * -DMUTANT_... breaks one rule; -DWITNESS=n asserts that a situation is never met (see run.sh). */
#ifndef N
#define N 2 /* electors */
#endif
#ifndef T
#define T 2 /* leader timeout, in units of a clock */
#endif
#ifndef F
#define F 4 /* numbers of files */
#endif
#ifndef K
#define K 1 /* writes of one elector that may be on their way at once */
#endif
#ifndef START
#define START 1 /* there is a file, whose leader has died; 2: after giving it up */
#endif
#ifndef DELETE
#define DELETE 0
#endif
#ifndef HAND
#define HAND 0
#endif
#ifndef WITNESS
#define WITNESS 0
#endif

#ifdef EXACT /* clocks without fault, and no margins: fewer states */
#define NO_DRIFT
#define LEASE T
#define WAIT T
#else
#define LEASE (T - 1)
#define WAIT (T + 1)
#endif
#ifdef LAG
#define CLAIM_WAIT (2 * WAIT)
#else
#define CLAIM_WAIT WAIT
#endif

#define UNSEEN (F + 1)
#define IDLE 0
#define AWAITED 1
#define UNKNOWN 2
#define NOTHING 0
#define CREATE 1
#define WRITE 2

bit there[F + 1], fex[F + 1], fcl[F + 1], fun[F + 1], ffo[F + 1];
byte fown[F + 1], fage[F + 1];
#ifdef SWEEP
byte fyoung[F + 1], sw;
#endif
#ifdef LAG
byte hidden[F + 1]; /* for so long a file does not show in listings */
#endif

byte seen[N], led[N], ve[N], vage[N], obs[N], watched[N], clean[N], base[N], lease[N], wk[N], wnum[N], cool[N];
bit vown[N], vex[N], vcl[N], vun[N], vfo[N], intact[N], sure[N], gap[N];
bit bi[N], taken[N], checked[N], orphaned[N], lead[N];
byte mk[N * K], me[N * K], mage[N * K];
bit mex[N * K], mcl[N * K], mun[N * K], mdead[N * K];

byte epochs; /* the highest epoch that was ever led */
byte landed, secs, lost, deleted, made;
byte i, j, e, x, step;
bit fresh;

#if K > 1
byte place[N]; /* of the message whose reply is awaited */
#define wkey(y, p) place[y] = p
#define IS_AWAITED(p) (wk[(p) / K] == AWAITED && place[(p) / K] == (p) % K && !mdead[p])
#define CAN_SEND(y) (wk[y] == IDLE && (mk[(y) * K] == NOTHING || mk[(y) * K + 1] == NOTHING))
#else
#define wkey(y, p) skip
#define IS_AWAITED(p) (wk[p] == AWAITED && !mdead[p])
#define CAN_SEND(y) (wk[y] == IDLE && mk[y] == NOTHING)
#endif


/* Elector y gains nothing by learning that it sent a write to this file so long ago. */
#define USELESS(y, file, age) \
  (led[y] > file || (led[y] == file && (!lead[y] || age >= lease[y])))

#include "files-promise.pml"

/* --- what an elector sees -------------------------------------------------------------------------- */

#define OLD_IS_BACK(y) (x != 0 && seen[y] < lost) /* x: the highest file */

/* Only the base of its last create is remembered; and that tells nothing where another's file of the
 * same number has been seen, which was deleted before its own landed. */
#ifdef MUTANT_TAKEN_NUMBER
#define TAKEN(y) false
#else
#define TAKEN(y) (taken[y])
#endif
#define KNOWS_BASE(y) (base[y] != 0 && base[y] + 1 == ve[y] && ve[y] >= seen[y] && !TAKEN(y))
/* A file of its own whose base is gone; or may be. */
#ifdef MUTANT_UNCHECKED /* as long as it has not looked, all is well */
#define ORPHANED(y) (orphaned[y])
#else
#define ORPHANED(y) (orphaned[y] || (vown[y] && !vex[y] && !vcl[y] && !checked[y] && !KNOWS_BASE(y)))
#endif
/* What it may create is a claim over absence, which is not counted on. */
#ifdef MUTANT_CLAIM_COUNTED_ON
#define UNFOUNDED(y) (ve[y] == 0 || ORPHANED(y))
#else
#define UNFOUNDED(y) (ve[y] == 0 || ORPHANED(y) || (vcl[y] && !vex[y] && !(vown[y] && !vun[y])))
#endif
/* A file of its own, on which nobody but itself can count: no need to wait. */
#ifdef MUTANT_CLAIM_LED
#define IS_OWN(y) (vown[y] && (vcl[y] || checked[y]) && !orphaned[y] && ve[y] != 0)
#elif defined(MUTANT_UNCHECKED)
#define IS_OWN(y) (vown[y] && !vun[y] && !vcl[y] && !orphaned[y] && ve[y] != 0)
#else
#define IS_OWN(y) (vown[y] && !vun[y] && !vcl[y] && checked[y] && ve[y] != 0)
#endif
#ifdef MUTANT_FOREIGN_RELEASE
#define IS_RELEASED(y) (vex[y])
#else
#define IS_RELEASED(y) (vex[y] && !vfo[y])
#endif
#ifdef MUTANT_NO_CLAIM_WAIT
#define LEGAL_AFTER(y) (ve[y] == 0 || ORPHANED(y) || IS_OWN(y) || vcl[y] -> 0 : WAIT)
#else
#define LEGAL_AFTER(y) (ve[y] == 0 || ORPHANED(y) || IS_OWN(y) -> 0 : (vcl[y] -> CLAIM_WAIT : WAIT))
#endif

#ifdef MUTANT_LATE_CLAIM
#define LATE_CLAIM false
#else
#define LATE_CLAIM true
#endif

inline begin_again() { obs[i] = 0; sure[i] = 0 }

inline see(f) { /* elector i sees file f as it is now */
  if
  :: ve[i] == f && intact[i] -> fresh = 0
  :: else ->
    fresh = 1;
    if
    :: ve[i] != f -> checked[i] = 0; orphaned[i] = 0
#ifdef MUTANT_CHECKED_LED
    :: ve[i] == f && f > led[i] -> checked[i] = 0
#elif !defined(MUTANT_CHECKED_ONCE)
    :: ve[i] == f && !lead[i] -> checked[i] = 0 /* another write of that number has landed */
#endif
    :: else
    fi;
    if
    :: f < ve[i] && ve[i] != UNSEEN -> clean[i] = LEASE
    :: else
    fi;
#ifndef MUTANT_ABSENCE_WATCHED
    watched[i] = (ve[i] == 0 -> 0 : watched[i]); /* it may be from before that */
#endif
    ve[i] = f; vown[i] = (fown[f] == i + 1); vex[i] = fex[f]; vcl[i] = fcl[f]; vfo[i] = ffo[f];
    vage[i] = (vown[i] -> fage[f] : LEASE);
    /* a claim that landed late may have come after others had led */
    vun[i] = vown[i] && (fun[f] || (fcl[f] && 2 * fage[f] > LEASE && LATE_CLAIM));
    intact[i] = 1;
    promise_seen(f);
    if
    :: f < seen[i] -> skip
    :: else ->
      taken[i] = (!vown[i] || (f == seen[i] && taken[i]));
      seen[i] = f
    fi;
    begin_again()
  fi
}

inline see_absence() {
  fresh = (ve[i] != 0);
  if
  :: fresh ->
    ve[i] = 0; vown[i] = 0; vex[i] = 0; vcl[i] = 0; vun[i] = 0; vfo[i] = 0; vage[i] = LEASE; intact[i] = 0;
    checked[i] = 0; orphaned[i] = 0;
    begin_again()
  :: else
  fi
}

/* After a gap nothing that was seen before counts, nor what was sent. */
inline watch() {
  if
  :: gap[i] ->
    gap[i] = 0; watched[i] = 0; vun[i] = vown[i];
    for (j : 1 .. F) { fun[j] = (fun[j] || fown[j] == i + 1) }
    for (j : i * K .. i * K + K - 1) { mun[j] = (mk[j] != NOTHING) }
    begin_again();
    fresh = 1
  :: else
  fi
}

/* --- leading ---------------------------------------------------------------------------------------- */

#ifdef MUTANT_UNLISTED
#define CLEAN(y, age) age
#else
#define CLEAN(y, age) (clean[y] > age -> clean[y] : age)
#endif
#ifdef MUTANT_BASE_UNSEEN
#define CHECKED(y) true
#else
#define CHECKED(y) (checked[y])
#endif
#ifdef MUTANT_CLAIM_LED
#define FOUNDED(y) true
#else
#define FOUNDED(y) (!vcl[y] && !vun[y])
#endif
#ifdef MUTANT_GAP_UNSEEN
#define GAPLESS(y) true
#else
#define GAPLESS(y) (!gap[y])
#endif
#ifdef MUTANT_RESUME
#define NEVER_LED(y) (ve[y] >= led[y])
#else
#define NEVER_LED(y) (ve[y] > led[y])
#endif

/* Of a file that it has led it asks only where it has not missed anything: else it lists first. */
#define IS_FOUNDED_OWN(y) (!lead[y] && ve[y] != 0 && ve[y] != UNSEEN && vown[y] && !vex[y] && !orphaned[y] && \
  FOUNDED(y) && ve[y] >= seen[y])
#define COULD_CHECK(y) (IS_FOUNDED_OWN(y) && !checked[y] && KNOWS_BASE(y) && (NEVER_LED(y) || GAPLESS(y)))
#define COULD_LEAD(y) (IS_FOUNDED_OWN(y) && NEVER_LED(y) && CLEAN(y, vage[y]) < LEASE)

inline become_leader() {
  for (j : 0 .. N - 1) { assert(j == i || !lead[j]) }
  assert(ve[i] > epochs);
  epochs = ve[i];
  lead[i] = 1; led[i] = ve[i];
  lease[i] = CLEAN(i, vage[i])
}

inline lead_if_valid() {
  if
  :: COULD_LEAD(i) && CHECKED(i) -> become_leader()
  :: else
  fi
}

inline stop_leading() { lead[i] = 0; lease[i] = 0 }

inline prolong() { lease[i] = (vage[i] < lease[i] -> vage[i] : lease[i]) }

/* What has been seen decides on leadership. */
inline resolve() {
  if
  :: lead[i] && !(vown[i] && ve[i] == led[i]) -> stop_leading()
#ifdef MUTANT_UNLISTED
  :: lead[i] && vown[i] && ve[i] == led[i] && !vex[i] -> prolong()
#endif
  :: else -> lead_if_valid()
  fi
}

/* A listing, and the highest file by its key. */
inline look() {
  highest_listed();
  if
  :: lead[i] && x == led[i] -> /* nothing above its own */
    clean[i] = 0;
    watch();
#if WITNESS == 4
    assert(vage[i] >= lease[i]);
#endif
    prolong();
    sweep()
  :: else ->
#ifdef MUTANT_FORGOTTEN
    e = x;
#else
    e = (x > seen[i] -> x : seen[i]);
#endif
    if
    :: there[e] -> see(e)
    :: else -> see_absence()
    fi;
    clean[i] = 0;
    watch();
    sure[i] = sure[i] || (!fresh && IS_LEGAL(i));
    if
    :: lead[i] && vown[i] && ve[i] == led[i] -> prolong() /* it is not listed yet */
    :: else -> resolve()
    fi
  fi;
  wk[i] = IDLE
}

inline read(f) { /* by key alone */
  see(f);
  if
  :: !fresh && IS_LEGAL(i) && !UNFOUNDED(i) -> sure[i] = 1
  :: else
  fi;
  resolve();
  wk[i] = IDLE
}

/* --- what it does ----------------------------------------------------------------------------------- */

inline send(kind, number, expired, claim, provisional) {
  j = i * K;
#if K > 1
  if
  :: mk[j] != NOTHING -> j++
  :: else
  fi;
#endif
  mk[j] = kind; me[j] = number; mex[j] = expired; mcl[j] = claim; mun[j] = provisional; mage[j] = 0; mdead[j] = 0;
  wk[i] = AWAITED; wnum[i] = number; wkey(i, j % K)
}

#ifdef MUTANT_NO_CONFIRM
#define OBSERVED(y) IS_LEGAL(y)
#else
#define OBSERVED(y) (sure[y])
#endif
#ifdef MUTANT_UNWATCHED
#define INVITED(y) IS_RELEASED(y)
#else
#define INVITED(y) (IS_RELEASED(y) && watched[y] >= WAIT)
#endif
#define MAY_CREATE(y) (!lead[y] && ve[y] != UNSEEN && clean[y] < LEASE && \
  (INVITED(y) || (!IS_RELEASED(y) && (IS_OWN(y) || OBSERVED(y)))))

/* The number of the next file (into e): of a claim over absence it comes from the store's time. */
inline next_number() {
  if
  :: UNFOUNDED(i) ->
    secs = (landed + 1 > secs -> landed + 1 : secs);
    if
    :: e = secs
    :: secs < F -> secs++; e = secs
    fi;
#ifdef MUTANT_EPOCH_RESTARTED
    e = seen[i] + 1
#endif
  :: else -> e = ve[i] + 1
  fi
}

inline elector() {
  if
  :: wk[i] != AWAITED -> look()
  :: wk[i] == UNKNOWN && there[wnum[i]] -> read(wnum[i])
  :: wk[i] == IDLE && !lead[i] && ve[i] != 0 && ve[i] != UNSEEN && there[ve[i]] -> read(ve[i])

  :: wk[i] == IDLE && COULD_CHECK(i) -> /* what was it created over? */
    if
    :: there[base[i]] && bi[i] && GAPLESS(i) ->
#if WITNESS == 8
      assert(NEVER_LED(i));
#endif
      checked[i] = 1;
      lead_if_valid()
    :: else ->
#if WITNESS == 5
      assert(false);
#endif
      orphaned[i] = 1; begin_again()
    fi

  :: lead[i] && CAN_SEND(i) -> send(WRITE, led[i], 0, 0, 0)

  :: lead[i] && CAN_SEND(i) && !vun[i] -> /* release: stop first */
    stop_leading();
    send(WRITE, led[i], 1, 0, 0)

  :: MAY_CREATE(i) && CAN_SEND(i) ->
    next_number();
    if
    :: e <= F ->
#ifdef MUTANT_BASE_OF_ANOTHER
      base[i] = ve[i];
#else
      base[i] = (e == ve[i] + 1 -> ve[i] : 0);
#endif
      bi[i] = intact[i];
      send(CREATE, e, 0, UNFOUNDED(i), 0)
    :: else
    fi

  :: wk[i] == AWAITED -> wk[i] = UNKNOWN /* given up; or refused */

#ifndef NO_CRASH
  :: ve[i] != UNSEEN -> /* a crash and a new start */
    stop_leading();
    ve[i] = UNSEEN; vown[i] = 0; vex[i] = 0; vcl[i] = 0; vun[i] = 0; vfo[i] = 0; vage[i] = LEASE; intact[i] = 0;
    checked[i] = 0; orphaned[i] = 0; taken[i] = 0; base[i] = 0; seen[i] = 0; led[i] = 0;
    clean[i] = LEASE; watched[i] = 0; gap[i] = 0;
    wk[i] = IDLE;
    begin_again();
    for (j : 1 .. F) {
      fown[j] = (fown[j] == i + 1 -> 0 : fown[j])
    }
    for (j : i * K .. i * K + K - 1) { mdead[j] = (mk[j] != NOTHING) }
#endif
  :: else
  fi
}

#include "files-canon.pml"
#include "files-store.pml"
