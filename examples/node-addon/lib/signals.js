'use strict';

const { kindOf, refuse } = require('./options');

// One listener on each signal, however many electors it closes: of more than ten Node warns, as of a
// leak.
const actions = new WeakMap(); // signal => { all, listener }

/** Refuses what is no AbortSignal; undefined is none. As Node itself, by its looks: there are others. */
function checkSignal(signal) {
  if (signal !== undefined && !(typeof signal?.aborted === 'boolean' && typeof signal.addEventListener === 'function'))
    throw refuse(`signal must be an AbortSignal, not ${kindOf(signal)}`);
}

/** Throws the reason of a signal that has been aborted. */
function throwIfAborted(signal) {
  if (signal?.aborted)
    throw signal.reason;
}

/** Has `action` called when the signal is aborted; gives a function that calls that off. */
function whenAborted(signal, action) {
  let entry = actions.get(signal);
  if (entry === undefined) {
    const all = new Set();
    const listener = () => {
      actions.delete(signal);
      for (const each of all)
        each();
    };
    entry = { all, listener };
    actions.set(signal, entry);
    signal.addEventListener('abort', listener, { once: true });
  }
  entry.all.add(action);
  return () => {
    if (entry.all.delete(action) && entry.all.size === 0 && actions.get(signal) === entry) {
      actions.delete(signal);
      signal.removeEventListener('abort', entry.listener);
    }
  };
}

module.exports = { checkSignal, throwIfAborted, whenAborted };
