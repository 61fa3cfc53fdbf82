/* files-store.pml: of files.pml: the store, the network, hands, and time. */

/* The highest file (into x), and the highest that listings show. */
inline highest() {
  x = F;
  do
  :: x > 0 && !there[x] -> x--
  :: else -> break
  od
}

inline highest_listed() {
  x = F;
  do
#ifdef LAG
  :: x > 0 && (!there[x] || hidden[x] > 0) -> x--
#else
  :: x > 0 && !there[x] -> x--
#endif
  :: else -> break
  od
}

inline changed(f) {
  for (j : 0 .. N - 1) {
    intact[j] = intact[j] && ve[j] != f;
    bi[j] = bi[j] && base[j] != f
  }
}

inline put(f, owner, expired, claim, provisional, foreign, age) {
  changed(f);
#ifdef LAG
  hidden[f] = (there[f] -> hidden[f] : T - 1);
#endif
  there[f] = 1; fown[f] = owner; fex[f] = expired; fcl[f] = claim; fun[f] = provisional; ffo[f] = foreign; fage[f] = age;
#ifdef SWEEP
  fyoung[f] = 0;
#endif
  landed = (f > landed -> f : landed)
}

inline remove(f) {
  changed(f);
  there[f] = 0; fown[f] = 0; fex[f] = 0; fcl[f] = 0; fun[f] = 0; ffo[f] = 0; fage[f] = 0
}

/* A leader whose listing was clean may have an old file removed: not one of the newest two, nor a young one. */
inline sweep() {
#ifdef SWEEP
  if
  :: sw == 0 ->
    do
    :: sw < F -> sw++
    :: break
    od;
    x = 0;
    for (j : 1 .. F) {
      if
      :: j > sw && j < led[i] && there[j] -> x = 1
      :: else
      fi
    }
#ifdef MUTANT_SWEEP_NEWEST
    x = 1;
#endif
#ifdef MUTANT_SWEEP_YOUNG
    sw = (sw < led[i] && there[sw] && x -> sw : 0)
#else
    sw = (sw < led[i] && there[sw] && x && fyoung[sw] >= T -> sw : 0)
#endif
  :: skip
  fi
#else
  skip
#endif
}

inline network() { /* i: a place for a message that is under way */
  if
  :: mk[i] != NOTHING -> /* lands */
    e = 0;
    if
#ifdef MUTANT_OVERWRITE
    :: mk[i] == CREATE -> e = 1
#else
    :: mk[i] == CREATE && !there[me[i]] -> e = 1
#endif
    :: mk[i] == WRITE -> e = 1
    :: else
    fi;
    if
    :: e == 1 ->
#if WITNESS == 2
      assert(mk[i] != CREATE || IS_AWAITED(i));
#endif
      promise_put(me[i], i);
      put(me[i], (mdead[i] -> 0 : i / K + 1), mex[i], mcl[i], mun[i], 0, (mdead[i] -> 0 : mage[i]))
    :: else
    fi;
    fresh = (e == 1 && IS_AWAITED(i));
    x = me[i];
    if
    :: e == 1 -> may_echo(me[i], i)
    :: else
    fi;
    mk[i] = NOTHING;
    i = i / K;
    if
    :: fresh -> /* and is answered */
      e = x;
      wk[i] = IDLE;
      see(e);
      resolve()
    :: skip
    fi
  :: mk[i] != NOTHING -> mk[i] = NOTHING /* is lost */
  :: else
  fi
}

/* Who has not seen file x, which is about to be deleted, had long enough to do so. */
inline missed() {
  for (j : 0 .. N - 1) {
    if
    :: seen[j] < x ->
      gap[j] = (ve[j] != UNSEEN);
      wk[j] = (wk[j] == AWAITED -> UNKNOWN : wk[j])
    :: else
    fi
  }
}

inline hands() {
#if DELETE > 0
  highest();
  if
  :: deleted < DELETE && x > 0 -> /* all */
#ifndef DELETE_SOON
    missed();
#endif
    for (e : 1 .. F) { remove(e) }
    deleted++; lost = landed
#ifdef DELETE_ONE
  :: deleted < DELETE && x > 0 -> /* the newest alone, of which somebody knows */
    e = 0;
    for (j : 0 .. N - 1) { e = (seen[j] >= x -> 1 : e) }
    if
    :: e == 1 ->
      missed();
      e = x;
      remove(e);
      deleted++; lost = landed
    :: else
    fi
#endif
  :: else
  fi
#else
  skip
#endif
}

inline makes() {
#if HAND > 0
  highest();
  if
  :: made < HAND && x > 0 -> made++; e = x; put(e, 0, 0, 0, 0, 1, 0) /* damages it */
  :: made < HAND && landed < F -> made++; e = landed + 1; put(e, 0, 0, 0, 0, 1, 0)
  :: made < HAND && landed < F -> made++; e = landed + 1; put(e, 0, 1, 0, 0, 1, 0) /* a copy of a released one */
  :: else
  fi
#else
  skip
#endif
}

/* --- time ------------------------------------------------------------------------------------------- */

#define LATER(t, limit) t = (t + step > limit -> limit : t + step)
/* Others with a better memory are there before. */
#define HELD(t, limit) t = (t + step >= limit -> limit - 1 : t + step)

/* Elector i's clock advances by `step`; x: the highest file. */
inline advance() {
  d_step {
    for (j : 1 .. F) {
      if
      :: fown[j] == i + 1 -> LATER(fage[j], LEASE)
      :: else
      fi
    }
    for (j : i * K .. i * K + K - 1) { LATER(mage[j], LEASE) }
    LATER(vage[i], LEASE);
    promise_advance();
    LATER(clean[i], LEASE);
    if
    :: OLD_IS_BACK(i) && watched[i] < WAIT -> HELD(watched[i], WAIT)
    :: else -> LATER(watched[i], WAIT)
    fi;
    if
    :: OLD_IS_BACK(i) && obs[i] < WAIT -> HELD(obs[i], WAIT)
    :: else -> LATER(obs[i], CLAIM_WAIT)
    fi;
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
  highest();
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
    advance();
    i++
  :: else -> break
  od;
#ifdef SWEEP
  for (j : 1 .. F) { fyoung[j] = (fyoung[j] < T -> fyoung[j] + 1 : T) }
#endif
#ifdef LAG
  for (j : 1 .. F) { hidden[j] = (hidden[j] > 0 -> hidden[j] - 1 : 0) }
#endif
}

#ifdef LAG
inline show_in_listings() {
  if
  :: for (j : 1 .. F) { hidden[j] = 0 }
  fi
}
#endif

inline pick(n) {
  i = 0;
  do
  :: i < n - 1 -> i++
  :: break
  od
}

init {
  d_step {
    for (i : 0 .. N - 1) {
      ve[i] = UNSEEN; clean[i] = LEASE; vage[i] = LEASE;
#ifdef PROMISE
      until[i] = NO_PROMISE
#endif
    }
#if START > 0
    there[1] = 1; landed = 1; epochs = 1; fex[1] = START - 1;
#endif
    i = 0; j = 0
  }
  do
  :: atomic {
      epochs < F -> /* what follows the last leadership is like what followed the ones before */
      if
      :: tick()
      :: pick(N); elector()
      :: pick(N * K); network()
#ifdef SWEEP
      :: sw != 0 ->
#if WITNESS == 6
        assert(!there[sw]);
#endif
        remove(sw); sw = 0
      :: sw = 0
#endif
#ifdef LAG
      :: show_in_listings()
#endif
#ifdef PROMISE
      :: told == 0 -> pick(N); tell()
      :: told != 0 -> i = told - 1; hear()
      :: echo != 0 -> lands_again()
#endif
#if DELETE > 0
      :: hands()
#endif
#if HAND > 0
      :: makes()
#endif
      fi;
      canon()
    }
  :: epochs == F ->
#if WITNESS == 3
    assert(false);
#endif
    break
  od
}
