/* files-canon.pml: of files.pml: states that differ in what makes no difference are one state. */

hidden byte a, b;

#ifdef SWEEP
#define SWEEPS true
#else
#define SWEEPS false
#endif
#ifdef MUTANT_OVERWRITE
#define NO_OVERWRITE false
#else
#define NO_OVERWRITE true
#endif

/* Elector y may come to see a file f of its own that it could lead. */
#ifdef MUTANT_CLAIM_LED
#define LEADS_CLAIMS true
#else
#define LEADS_CLAIMS false
#endif
#define IS_ON_ITS_WAY(m, f) (mk[m] != NOTHING && me[m] == f && !mex[m] && (!mcl[m] || LEADS_CLAIMS) && !mdead[m])
#define STANDS(y, f) (there[f] && fown[f] == y + 1 && !fex[f] && (!fcl[f] || LEADS_CLAIMS))
#define IS_IN_VIEW(y, f) (ve[y] == f && vown[y] && !vex[y] && (!vcl[y] || LEADS_CLAIMS) && !orphaned[y])
#if K > 1
#define COMES_UP(y, f) (IS_ON_ITS_WAY((y) * K, f) || IS_ON_ITS_WAY((y) * K + 1, f) || STANDS(y, f) || \
  IS_IN_VIEW(y, f) || LANDS_AGAIN(y, f))
#else
#define COMES_UP(y, f) (IS_ON_ITS_WAY(y, f) || STANDS(y, f) || IS_IN_VIEW(y, f) || LANDS_AGAIN(y, f))
#endif

inline forget() {
  for (a : 1 .. F) {
    if
    :: !there[a] || fown[a] == 0 || fex[a] || USELESS(fown[a] - 1, a, fage[a]) -> fage[a] = LEASE
    :: else
    fi;
    fun[a] = fun[a] && fown[a] != 0
  }
  for (a : 0 .. N * K - 1) {
    if
    :: mk[a] == NOTHING || (mk[a] == CREATE && there[me[a]] && deleted == DELETE && !SWEEPS && NO_OVERWRITE) ->
      mk[a] = NOTHING; me[a] = 0; mex[a] = 0; mcl[a] = 0; mun[a] = 0; mage[a] = 0; mdead[a] = 0
    :: mk[a] != NOTHING && (mdead[a] || mex[a] || USELESS(a / K, me[a], mage[a])) -> mage[a] = LEASE
    :: else
    fi;
    mun[a] = mun[a] && !mdead[a]
  }
  for (b : 0 .. N - 1) {
    if
    :: wk[b] == IDLE -> wnum[b] = 0
    :: else
    fi;
    if
    :: vown[b] && !vex[b] && !USELESS(b, ve[b], vage[b]) -> skip
    :: else -> vage[b] = LEASE
    fi;
    if
    :: lead[b] || ve[b] == UNSEEN -> clean[b] = LEASE
    :: else
    fi;
    if
    :: lead[b] || ve[b] == UNSEEN || ve[b] == 0 || sure[b] || orphaned[b] || (vex[b] && !vfo[b]) ||
       IS_OWN(b) -> obs[b] = 0
    :: else
    fi;
    /* Over which file it created its own last matters as long as that may come into view, or stands
     * there: also of one that it has led, or leads, for another write of it may land, and then it is to
     * be looked into once more. Of a claim, or below a number that it has seen, it does not matter. */
    e = base[b] + 1;
    if
    :: base[b] != 0 && e <= F && seen[b] <= e && !(seen[b] == e && TAKEN(b)) && COMES_UP(b, e) -> skip
    :: else -> base[b] = 0; bi[b] = 0
    fi;
    taken[b] = taken[b] && seen[b] != 0 && COMES_UP(b, seen[b])
  }
  forget_promises();
  secs = (secs > landed + 1 -> secs : 0)
#ifdef SWEEP
  ;
  for (a : 1 .. F) { fyoung[a] = (there[a] -> fyoung[a] : 0) }
#endif
#ifdef LAG
  ;
  for (a : 1 .. F) { hidden[a] = (there[a] -> hidden[a] : 0) }
#endif
}

/* Electors are alike: which of them is in which condition makes no difference. */
#define KEY(y) (lead[y] + 2 * wk[y] + 6 * vown[y] + 12 * intact[y] + 24 * cool[y] + \
  24 * T * (led[y] + (F + 1) * (lease[y] + (T + 1) * (obs[y] + (2 * WAIT + 1) * \
  (mk[(y) * K] + 4 * (sure[y] + 2 * (seen[y] + (F + 1) * ve[y])))))))

inline swap(p, q) { x = p; p = q; q = x }

inline swap_messages(p, q) {
  swap(mk[p], mk[q]); swap(me[p], me[q]); swap(mage[p], mage[q]); swap(mex[p], mex[q]); swap(mcl[p], mcl[q]);
  swap(mun[p], mun[q]); swap(mdead[p], mdead[q])
}

inline sort_electors() {
  for (b : 1 .. N - 1) {
    a = N - 1;
    do
    :: a > 0 ->
      if
      :: KEY(a) < KEY(a - 1) ->
        swap(seen[a], seen[a - 1]); swap(led[a], led[a - 1]); swap(ve[a], ve[a - 1]); swap(vage[a], vage[a - 1]);
        swap(obs[a], obs[a - 1]); swap(watched[a], watched[a - 1]); swap(clean[a], clean[a - 1]);
        swap(base[a], base[a - 1]); swap(lease[a], lease[a - 1]); swap(wk[a], wk[a - 1]);
        swap(wnum[a], wnum[a - 1]); swap(cool[a], cool[a - 1]); swap(vown[a], vown[a - 1]);
        swap(vex[a], vex[a - 1]); swap(vcl[a], vcl[a - 1]); swap(vun[a], vun[a - 1]); swap(vfo[a], vfo[a - 1]);
        swap(intact[a], intact[a - 1]); swap(sure[a], sure[a - 1]); swap(gap[a], gap[a - 1]);
        swap(bi[a], bi[a - 1]); swap(taken[a], taken[a - 1]);
        swap(checked[a], checked[a - 1]); swap(orphaned[a], orphaned[a - 1]);
        swap(lead[a], lead[a - 1]);
        swap_messages(a * K, (a - 1) * K);
#if K > 1
        swap(place[a], place[a - 1]);
        swap_messages(a * K + 1, (a - 1) * K + 1);
#endif
        for (e : 1 .. F) {
          fown[e] = (fown[e] == a + 1 -> a : (fown[e] == a -> a + 1 : fown[e]))
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
#ifndef PROMISE
    sort_electors();
#endif
    a = 0; b = 0; x = 0; e = 0; i = 0; j = 0; step = 0; fresh = 0
  }
}
