'use strict';

const { EventEmitter } = require('node:events');
const os = require('node:os');
const { setTimeout: sleep } = require('node:timers/promises');
const { inspect } = require('node:util');
const { isMainThread, threadId } = require('node:worker_threads');

const binding = require('./binding');
const { Events } = require('./events');
const { ELECTOR, EXPIRY, PROTOCOL, checked, choice, construct, kindOf, refuse, spelled } = require('./options');
const { PeerClient } = require('./peer');
const { Shared, nativeOf, setNative } = require('./shared');
const { checkSignal, throwIfAborted, whenAborted } = require('./signals');
const { Store, URLS, refuseOthers, storeOfUrl } = require('./store');

const ROLES = ['stopped', 'follower', 'leader'];

// How often start() looks whether the release of an earlier stop has ended, which nothing tells.
const RELEASE_LOOK_MS = 10;

// What update() may change.
const CHANGEABLE = ['serverAddr', 'priority', 'frequentIntervalMs', 'infrequentIntervalMs', 'leaderTimeoutMs', 'renewIntervalMs',
  'requestTimeoutMs', 'gracePeriodMs', 'releaseTimeoutMs', 'stopAckMs', 'renewDeadlineMs', 'warnBeforeMs',
  'peerIntervalMs', 'peerTimeoutMs'];

// Errors after which the elector does not go on.
const FATAL = new Set(['S3LECT_EUNSAFE']);

// A process that comes to its natural end does so because all that still stand have been unref'd:
// they release what they hold, so that others need not wait for it to expire.
const standing = new Set();

function onBeforeExit() {
  for (const elector of standing)
    elector.close();
}

function stand(elector) {
  if (standing.size === 0)
    process.on('beforeExit', onBeforeExit);
  standing.add(elector);
}

function sit(elector) {
  if (standing.delete(elector) && standing.size === 0)
    process.off('beforeExit', onBeforeExit);
}

function defaultId() {
  return `${os.hostname()}:${process.pid}${isMainThread ? '' : `:${threadId}`}`;
}

function failure(name, message) {
  return Object.assign(new Error(message), { code: `S3LECT_${name}`, errno: -os.constants.errno[name] });
}

/** One candidate in one election. */
class Elector extends EventEmitter {
  #native;
  #options; // as the native part has them
  #id;
  #store;
  #ownsStore;
  #peerClient;
  #uses = []; // to be called when it is closed
  #signal;
  #callOff = () => {}; // the signal, which closes it
  #starting = null; // a start() that waits for an earlier stop
  #leadership = null; // { event, controller, over, end }
  #iterators = new Set();
  #closed; // the promise of close()
  #ended; // what settles it
  #isClosed = false;

  constructor(options) {
    super();
    const native = checked('Elector', options, ELECTOR);
    const { peerClient, signal, store } = options;
    checkSignal(signal);
    if (!(store instanceof Store) && typeof store !== 'string')
      throw refuse(`store is required: ${URLS}, or an S3Store, AzureStore, GcsStore, FileStore or MemoryStore; it is ${kindOf(store)}`);
    if (peerClient !== undefined && !(peerClient instanceof PeerClient))
      throw refuse(`peerClient must be a PeerClient, not ${kindOf(peerClient)}`);
    this.#peerClient = peerClient;
    native.expiry = choice('expiry', options.expiry, EXPIRY);
    native.protocol = choice('protocol', options.protocol, PROTOCOL);
    native.serverId ??= defaultId();
    this.#id = native.serverId;
    this.#ownsStore = typeof store === 'string';
    if (this.#ownsStore) {
      const { store: opened, key } = storeOfUrl(store, options);
      this.#store = opened;
      native.lockfilePath ??= key;
    } else {
      refuseOthers(options);
      this.#store = store;
    }
    this.#open(native);
    this.#signal = signal;
    if (signal?.aborted)
      this.close();
    else if (signal !== undefined)
      this.#callOff = whenAborted(signal, () => this.close());
  }

  #open(options) {
    try {
      this.#native = construct(binding.Elector, options, nativeOf(this.#store),
        this.#peerClient && nativeOf(this.#peerClient));
    } catch (err) {
      if (this.#ownsStore)
        this.#store.close();
      throw err;
    }
    this.#options = options;
    setNative(this, this.#native);
    this.#uses = [this.#store, this.#peerClient].filter(Boolean).map((shared) => Shared.use(shared, this));
    this.#native.onEvent = (...args) => this.#onEvent(...args);
    this.#native.onClosed = () => this.#onClosed();
    this.#native.uses = [this.#store, this.#peerClient]; // which live as long
  }

  // ---- Calls ----

  async start() {
    const turn = {};
    while (!this.#begin()) {
      this.#starting = turn;
      await sleep(RELEASE_LOOK_MS);
      if (this.#starting !== turn)
        throw failure('ECANCELED', 'the elector was stopped before it had started anew');
      this.#starting = null;
    }
    stand(this);
  }

  /* False: the record is still being released after an earlier stop. */
  #begin() {
    throwIfAborted(this.#signal);
    // Else it could stand before the one that waits, and a stop() would call off only that one.
    if (this.#starting !== null)
      throw failure('EBUSY', 'another start waits for the release after the stop');
    try {
      this.#call('start');
      return true;
    } catch (err) {
      if (err.code !== 'S3LECT_EBUSY')
        throw err;
      return false;
    }
  }

  async stop() {
    if (this.#starting !== null) {
      this.#starting = null;
      return;
    }
    this.#call('stop');
    sit(this);
    await this.#leadership?.over;
  }

  async resign() {
    this.#call('resign');
    await this.#leadership?.over;
  }

  async transfer(to) {
    this.#call('transfer', to);
    await this.#leadership?.over;
  }

  update(options) {
    const all = { ...this.#options, ...checked('update', options, CHANGEABLE) };
    this.#call('update', all, nativeOf(this.#store), this.#peerClient && nativeOf(this.#peerClient));
    this.#options = all;
  }

  setValue(text, { now = false } = {}) {
    this.#call('setValue', text ?? '', Boolean(now));
  }

  #call(method, ...args) {
    try {
      this.#native[method](...args);
    } catch (err) {
      throw spelled(err);
    }
  }

  close() {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close() {
    const ended = new Promise((resolve) => {
      this.#ended = resolve;
    });
    this.#native.close();
    await ended;
    if (this.#ownsStore)
      await this.#store.close();
  }

  [Symbol.asyncDispose]() {
    return this.close();
  }

  ack(epoch) {
    this.#native.ack(epoch);
  }

  ref() {
    this.#native.setRef(true);
    return this;
  }

  unref() {
    this.#native.setRef(false);
    return this;
  }

  // ---- What it knows ----

  get isLeader() {
    return this.#native.isLeader();
  }

  get validForMs() {
    return this.#native.validForMs();
  }

  get epoch() {
    return this.#native.epoch();
  }

  get leader() {
    return this.#native.leader() || null;
  }

  get closed() {
    return this.#isClosed;
  }

  status() {
    const status = this.#native.status();
    status.role = ROLES[status.role];
    status.validForMs = this.validForMs;
    return status;
  }

  stats() {
    return this.#native.stats();
  }

  [inspect.custom]() {
    const role = this.#closed !== undefined || this.#isClosed ? 'closed'
      : this.isLeader ? 'leader' : standing.has(this) ? 'follower' : 'stopped';
    return `Elector { id: ${inspect(this.#id)}, role: '${role}', epoch: ${this.epoch}n }`;
  }

  /** What a peer server would answer, for a server that the program has already. */
  peerResponse(method) {
    const [status, body] = this.#native.peerResponse(method);
    return { status, body };
  }

  /** The metrics of this elector and of others as one page, in Prometheus's text format. */
  metrics(...others) {
    return this.#native.metrics(others.map(nativeOf));
  }

  events({ signal } = {}) {
    checkSignal(signal);
    throwIfAborted(signal);
    let callOff = () => {};
    const events = new Events(() => {
      this.#iterators.delete(events);
      callOff();
    });
    this.#iterators.add(events);
    if (signal !== undefined)
      callOff = whenAborted(signal, () => events.end(signal.reason));
    if (this.#isClosed)
      events.end();
    else if (this.#leadership !== null)
      events.push({ ...this.#leadership.event });
    return events;
  }

  // ---- Events ----
  // A listener may throw: that is an uncaught exception, and all that has to be done is done before.

  #onEvent(kind, epoch, leaderId, leaderAddr, reason, error, value) {
    switch (kind) {
      case 'started_leading':
        return this.#onLeading(epoch);
      case 'stopped_leading':
        return this.#onStopped(epoch, reason);
      case 'new_leader':
        return this.#tell({ type: 'leader', leader: leaderId || null, address: leaderAddr || null, epoch });
      case 'claiming':
        return this.#tell({ type: 'claiming', epoch });
      case 'no_leader':
        return this.#tell({ type: 'noLeader', epoch });
      case 'expiring':
        return this.#tell({ type: 'expiring', epoch });
      case 'value':
        return this.#tell({ type: 'value', leader: leaderId || null, value, epoch });
      case 'renewed':
        return this.emit('renewed', { type: 'renewed', epoch });
      default:
        return this.#onError(spelled(error));
    }
  }

  #onLeading(epoch) {
    const controller = new AbortController();
    let end;
    const over = new Promise((resolve) => {
      end = resolve;
    });
    const event = { type: 'leading', epoch, signal: controller.signal };
    this.#leadership = { controller, end, event, over };
    this.#tell(event);
  }

  #onStopped(epoch, reason) {
    const { controller, end } = this.#leadership;
    const event = { type: 'stopped', epoch, reason };
    this.#leadership = null;
    end();
    for (const iterator of this.#iterators)
      iterator.push({ ...event });
    controller.abort(Object.assign(new Error(`leadership has ended: ${reason}`),
      { name: 'AbortError', code: 'S3LECT_ENDED', reason }));
    this.emit('stopped', event);
  }

  #onError(error) {
    for (const iterator of this.#iterators)
      iterator.push({ type: 'error', error });
    if (FATAL.has(error.code))
      sit(this);
    // It goes on after nearly all errors, so that a process which does not listen need not end.
    if (this.listenerCount('error') > 0 || FATAL.has(error.code))
      this.emit('error', error);
    else if (this.#iterators.size === 0)
      process.emitWarning(error.message, { type: 'S3lectWarning', code: error.code });
  }

  #tell(event) {
    for (const iterator of this.#iterators)
      iterator.push({ ...event });
    this.emit(event.type, event);
  }

  #onClosed() {
    this.#isClosed = true;
    sit(this);
    for (const unuse of this.#uses)
      unuse();
    this.#callOff();
    for (const iterator of [...this.#iterators])
      iterator.end();
    // A store closes its electors itself; one that the garbage collector closes has no promise.
    this.#ended?.();
    this.emit('close');
  }
}

module.exports = { Elector };
