'use strict';

const binding = require('./binding');
const { PEER_CLIENT, PEER_SERVER, checked, construct, spelled } = require('./options');
const { nativeOf, Shared } = require('./shared');

/* A call of the native part, whose errors name options as they are spelled here. */
function call(peer, method, ...args) {
  try {
    return nativeOf(peer)[method](...args);
  } catch (err) {
    throw spelled(err);
  }
}

/** Asks the leaders of the electors that have it, so that they need not ask the store. */
class PeerClient extends Shared {
  constructor(options = {}) {
    super(construct(binding.PeerClient, checked('PeerClient', options, PEER_CLIENT)));
  }

  /** Reads certificates anew: from the files, or from the options that are given. */
  reload(options) {
    call(this, 'reload', options && checked('PeerClient', options, PEER_CLIENT));
  }
}

/** Answers other servers' peer clients, for any number of electors. Does not keep the process alive. */
class PeerServer extends Shared {
  constructor(options) {
    super(construct(binding.PeerServer, checked('PeerServer', options, PEER_SERVER)));
  }

  /** The port that it listens on. */
  get port() {
    return call(this, 'port');
  }

  /** The port of pagesListen. */
  get pagesPort() {
    return call(this, 'pagesPort');
  }

  /** Answers for an elector, until it is closed. */
  add(elector, path) {
    call(this, 'add', nativeOf(elector), path);
    return this;
  }

  /** Whether it was there. */
  remove(elector) {
    return call(this, 'remove', nativeOf(elector));
  }

  /** Reads certificates anew: from the files, or from the options that are given. */
  reload(options) {
    call(this, 'reload', options && checked('PeerServer', options, PEER_SERVER));
  }
}

module.exports = { PeerClient, PeerServer };
