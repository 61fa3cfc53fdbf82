'use strict';

const binding = require('./binding');
const { PEER_CLIENT, PEER_SERVER, checked, construct, spelled } = require('./options');
const { nativeOf, Shared } = require('./shared');

/** Asks the leaders of the electors that have it, so that they need not ask the store. */
class PeerClient extends Shared {
  constructor(options = {}) {
    super(construct(binding.PeerClient, checked('PeerClient', options, PEER_CLIENT)));
  }
}

/** Answers other servers' peer clients, for any number of electors. Does not keep the process alive. */
class PeerServer extends Shared {
  constructor(options) {
    super(construct(binding.PeerServer, checked('PeerServer', options, PEER_SERVER)));
  }

  #call(method, ...args) {
    try {
      return nativeOf(this)[method](...args);
    } catch (err) {
      throw spelled(err);
    }
  }

  /** The port that it listens on. */
  get port() {
    return this.#call('port');
  }

  /** Answers for an elector, until it is closed. */
  add(elector, path) {
    this.#call('add', nativeOf(elector), path);
    return this;
  }

  /** Whether it was there. */
  remove(elector) {
    return this.#call('remove', nativeOf(elector));
  }

  /** Reads certificates anew: from the files, or from the options that are given. */
  reload(options) {
    this.#call('reload', options && checked('PeerServer', options, PEER_SERVER));
  }
}

module.exports = { PeerClient, PeerServer };
