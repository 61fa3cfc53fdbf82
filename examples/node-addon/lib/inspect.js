'use strict';

// What elections look like from outside: without an elector.

const { PROTOCOL, checked, choice, refuse, spelled } = require('./options');
const { checkSignal } = require('./signals');
const { request, storeOfUrl } = require('./store');

const LIST = ['store', 's3', 'prefix', 'lockfilePath', 'protocol', 'leaderTimeoutMs', 'requestTimeoutMs', 'signal'];

/* A request whose errors name options as they are spelled here. */
async function asked(...args) {
  try {
    return await request(...args);
  } catch (err) {
    throw spelled(err);
  }
}

/** Gives `use` the store of the options, and the key if they name it: then the store is closed in the end. */
async function withStore({ store, s3 }, isPrefix, use) {
  if (typeof store !== 'string') {
    if (s3 !== undefined)
      throw refuse('s3 goes with a store of the form "s3://BUCKET/KEY" only');
    return use(store);
  }
  const { store: opened, key } = storeOfUrl(store, s3 ?? {}, isPrefix);
  try {
    return await use(opened, key);
  } finally {
    await opened.close();
  }
}

/** All elections under a prefix, or one, as their objects are now. */
async function list(options) {
  const native = checked('list', options, LIST);
  checkSignal(options.signal);
  native.protocol = choice('protocol', options.protocol, PROTOCOL);
  return withStore(options, true, async (store, key) => {
    native.prefix ??= key;
    const found = await asked(store, options.signal, 'list', native);
    return found
      .filter(({ state }) => state !== 'foreign' && (state !== 'absent' || options.lockfilePath !== undefined))
      .map((election) => ({ ...election, protocol: PROTOCOL[election.protocol] }));
  });
}

module.exports = { list };
