/* files-promise.pml: of files.pml: what a leader tells a follower: how long it is valid by its last
 * confirmed write. One such message is on its way at a time, for as long as it likes; and one renewal
 * that has landed may land once more. With epoch files a promise must not shorten anybody's wait
 * (MUTANT_PROMISE): the body that it is about may have come back.
 *
 *   told               to whom it is under way, plus 1
 *   pfile, pleft       the file, and the validity that is left of the write it is about
 *   pstands, pview     the body of that write is what stands in the file, what its receiver has in view
 *   echo, eown, eage   the file that a renewal is to land in again, whose, and how long ago it was sent
 *   enewest, pback     nothing that its sender wrote has landed since; the promise is about it
 *   until              to the end of a promise that is counted on */
#ifdef PROMISE
byte told, pfile, pleft, echo, eown, eage, until[N];
bit pstands, pview, pback, enewest;

#define NO_PROMISE 15
#define IS_LEGAL(y) (obs[y] >= LEGAL_AFTER(y) || until[y] == 0)
#define LANDS_AGAIN(y, f) (echo == f && eown == y + 1)

inline tell() { /* elector i to another */
  if
  :: lead[i] && vown[i] && ve[i] == led[i] ->
    e = (i + 1) % N;
    told = e + 1; pfile = led[i]; pleft = LEASE - lease[i]; pstands = intact[i];
    pview = (ve[e] == pfile && intact[e] && pstands);
    pback = (echo == pfile && enewest && intact[i])
  :: else
  fi
}

inline hear() { /* elector i */
  if
  :: !lead[i] && ve[i] == pfile && pview ->
#if WITNESS == 7
    assert(pstands);
#endif
#ifdef MUTANT_PROMISE
    until[i] = (pleft < until[i] -> pleft : until[i])
#else
    skip
#endif
  :: else
  fi;
  told = 0; pfile = 0; pleft = 0; pstands = 0; pview = 0; pback = 0
}

inline promise_seen(f) {
  until[i] = NO_PROMISE;
  if
  :: told == i + 1 -> pview = (f == pfile && pstands)
  :: else
  fi
}

/* The message in place p is about to stand in file f. */
inline promise_put(f, p) {
  pstands = pstands && f != pfile;
  enewest = enewest && f != echo
}

/* It may do so once more. */
inline may_echo(f, p) {
  if
  :: mk[p] == WRITE && !mex[p] && !mdead[p] && echo == 0 ->
    echo = f; eown = p / K + 1; eage = mage[p]; enewest = 1
  :: skip
  fi
}

inline lands_again() {
  pstands = (echo == pfile -> pback : pstands);
  put(echo, eown, 0, 0, 0, 0, eage);
  echo = 0; eown = 0; eage = 0; enewest = 0; pback = 0
}

inline promise_advance() {
  until[i] = (until[i] == NO_PROMISE -> NO_PROMISE : (until[i] > step -> until[i] - step : 0));
  eage = (eown == i + 1 -> (eage + step > LEASE -> LEASE : eage + step) : eage)
}

inline forget_promises() {
  if
  :: echo != 0 && USELESS(eown - 1, echo, eage) -> eage = LEASE
  :: else
  fi;
  for (a : 0 .. N - 1) {
    if
    :: ve[a] == UNSEEN || ve[a] == 0 || vown[a] || lead[a] -> until[a] = NO_PROMISE
    :: else
    fi
  }
}
#else
#define IS_LEGAL(y) (obs[y] >= LEGAL_AFTER(y))
#define LANDS_AGAIN(y, f) false
#define promise_seen(f) skip
#define promise_put(f, p) skip
#define may_echo(f, p) skip
#define promise_advance() skip
#define forget_promises() skip
#endif
