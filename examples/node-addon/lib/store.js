'use strict';

const { fileURLToPath } = require('node:url');

const binding = require('./binding');
const { ADDRESSING, AZURE, GCS, S3, checked, choice, construct, kindOf, refuse } = require('./options');
const { Shared, nativeOf } = require('./shared');
const { throwIfAborted, whenAborted } = require('./signals');

const WITHIN_MS = 30000;

// As s3lect_memory_fault_t numbers them.
const FAULTS = ['works', 'silent', 'loses-replies', 'refuses'];

// Requests that are under way: a store that only they refer to must not be collected.
const pending = new Map();
let lastId = 0;

/** Begins a request of the native part, which a signal may cancel. */
function request(store, signal, method, ...args) {
  throwIfAborted(signal);
  return new Promise((resolve, reject) => {
    const id = lastId = (lastId + 1) % 2 ** 32;
    const native = nativeOf(store);
    native[method](id, ...args);
    pending.set(id, { store, resolve, reject, signal, off: signal && whenAborted(signal, () => native.cancel(id)) });
  });
}

/* The end of a request: what waits for it, or undefined after an abort. */
function take(id) {
  const { resolve, reject, signal, off } = pending.get(id);
  pending.delete(id);
  off?.();
  return { resolve, reject: (err) => reject(signal?.aborted ? signal.reason : err) };
}

function onEnded(id, error, value) {
  const { resolve, reject } = take(id);
  if (error === undefined)
    resolve(value);
  else
    reject(error);
}

function epochOf(epoch, least) {
  if (typeof epoch !== 'bigint' || epoch < least || epoch >= 2n ** 64n)
    throw refuse(`epoch must be a bigint, as an elector's, of at least ${least}, not ${typeof epoch === 'bigint' ? epoch : kindOf(epoch)}`);
  return epoch;
}

function keyOf(key) {
  if (typeof key !== 'string' || key === '' || key.includes('\0') || Buffer.byteLength(key) > 1024)
    throw refuse(`key must be a string of 1 to 1024 bytes, not ${typeof key === 'string' ? 'this one' : kindOf(key)}`);
  return key;
}

function withinOf({ timeoutMs = WITHIN_MS }) {
  if (!Number.isInteger(timeoutMs) || timeoutMs < 1 || timeoutMs > 0xffffffff)
    throw refuse('timeoutMs must be a whole number of at least 1');
  return timeoutMs;
}

function contentOf(content) {
  if (typeof content === 'string')
    return Buffer.from(content);
  if (ArrayBuffer.isView(content))
    return Buffer.from(content.buffer, content.byteOffset, content.byteLength);
  throw refuse(`content must be a string, a Buffer or a typed array, not ${kindOf(content)}`);
}

/** What the electors of one thread share: connections, or objects in memory. */
class Store extends Shared {
  constructor(kind, options) {
    if (new.target === Store)
      throw new TypeError('use S3Store, AzureStore, GcsStore, FileStore or MemoryStore');
    const native = construct(binding.Store, kind, options);
    super(native);
    native.onFenced = onFenced;
    native.onListed = native.onAudited = onEnded;
    if (typeof options.credentials === 'function')
      native.onCredentials = questioner(native, options.credentials);
  }

  /** Writes an object, unless a leader with a greater epoch has. */
  async put(key, content, options = {}) {
    const epoch = epochOf(options.epoch, 1n);
    await request(this, undefined, 'fenced', keyOf(key), epoch, withinOf(options), contentOf(content));
  }

  /** Reads what put has written. With an epoch, no earlier leader can change that any more. */
  async get(key, options = {}) {
    const epoch = options.epoch === undefined ? 0n : epochOf(options.epoch, 1n);
    return request(this, undefined, 'fenced', keyOf(key), epoch, withinOf(options), undefined);
  }
}

function onFenced(id, error, content, epoch) {
  const { resolve, reject } = take(id);
  if (error === undefined)
    resolve({ content, epoch });
  else if (error.code === 'S3LECT_ENOTFOUND')
    resolve(null);
  else
    reject(Object.assign(error, { epoch }));
}

function required(value, name) {
  if (typeof value !== 'string' || value === '')
    throw new TypeError(`it gave no ${name}`);
  return value;
}

function milliseconds(expiration) {
  if (expiration === undefined || expiration === null)
    return 0;
  const ms = Number(new Date(expiration));
  if (!(ms > 0))
    throw new TypeError('its expiration is no date after 1970');
  return ms;
}

/* What was thrown may be anything, an error of another realm, or what cannot even be shown. */
function reason(thrown) {
  let text;
  try {
    text = String(thrown?.message ?? thrown);
  } catch {
    text = 'it has thrown what is no error';
  }
  return `the credentials function: ${text}`.replaceAll('\0', ' ').slice(0, 400);
}

/* The function may answer, promise, throw, or never answer, which the request's time-out ends. What it
 * throws becomes the elector's 'error' (S3LECT_ECREDENTIALS); the store asks again later. */
function questioner(native, credentials) {
  return async (question) => {
    try {
      const given = await credentials();
      if (given === null || typeof given !== 'object')
        throw new TypeError('it gave no object');
      const isToken = given.token !== undefined;
      const key = isToken ? '' : required(given.accessKeyId, 'accessKeyId');
      const secret = isToken ? '' : required(given.secretAccessKey, 'secretAccessKey');
      const token = (isToken ? given.token : given.sessionToken) ?? undefined;
      native.answerCredentials(question, key, secret,
        token === undefined ? token : required(token, isToken ? 'token' : 'sessionToken'),
        milliseconds(given.expiration));
    } catch (err) {
      native.refuseCredentials(question, reason(err));
    }
  };
}

/* A function that gives them; an object is checked at once. */
function credentialsSource(credentials) {
  if (typeof credentials === 'function')
    return credentials;
  if (credentials === null || typeof credentials !== 'object' || Array.isArray(credentials))
    throw refuse(`credentials must be an object or a function, not ${kindOf(credentials)}`);
  for (const name of credentials.token === undefined ? ['accessKeyId', 'secretAccessKey'] : ['token']) {
    if (typeof credentials[name] !== 'string' || credentials[name] === '')
      throw refuse(`credentials.${name} must be a string that is not empty`);
  }
  return () => credentials;
}

function headerLines(headers) {
  if (headers === null || typeof headers !== 'object' || Array.isArray(headers))
    throw refuse(`headers must be an object of names and values, not ${kindOf(headers)}`);
  return Object.entries(headers).map(([name, value]) => {
    if (typeof value !== 'string')
      throw refuse(`headers: the value of "${name}" must be a string, not ${kindOf(value)}`);
    return `${name}: ${value}`;
  });
}

/** Objects in a bucket of S3, or of what speaks like it. */
class S3Store extends Store {
  constructor(options) {
    const native = checked('S3Store', options, S3);
    native.addressing = choice('addressing', options.addressing, ADDRESSING);
    if (options.credentials !== undefined)
      native.credentials = credentialsSource(options.credentials);
    if (options.headers !== undefined)
      native.headers = headerLines(options.headers);
    super('s3', native);
  }
}

/** Objects in a container of Azure Blob Storage. */
class AzureStore extends Store {
  constructor(options) {
    const native = checked('AzureStore', options, AZURE);
    if (options.credentials !== undefined)
      native.credentials = credentialsSource(options.credentials);
    super('azure', native);
  }
}

/** Objects in a bucket of Google Cloud Storage. */
class GcsStore extends Store {
  constructor(options) {
    const native = checked('GcsStore', options, GCS);
    if (options.credentials !== undefined)
      native.credentials = credentialsSource(options.credentials);
    super('gcs', native);
  }
}

/** Files in a directory, for the processes of one machine. */
class FileStore extends Store {
  constructor(directory) {
    const isUrl = directory instanceof URL;
    if (!isUrl && (typeof directory !== 'string' || directory === ''))
      throw refuse(`directory must be a path or a file: URL, not ${directory === '' ? '""' : kindOf(directory)}`);
    super('file', { directory: isUrl ? fileURLToPath(directory) : directory });
  }
}

/** Objects in memory, for the electors of one thread: for tests. */
class MemoryStore extends Store {
  constructor({ share } = {}) {
    super('memory', { share: share && nativeOf(share) });
  }

  /** Another store with the same objects, as another process has it. */
  share() {
    return new MemoryStore({ share: this });
  }

  /** What happens to the requests that begin from now on. */
  fault(fault) {
    nativeOf(this).fault(choice('fault', fault, FAULTS) ?? 0);
  }
}

/** Lets time pass so many times as fast in this process, for tests with stores in memory. */
function testingSpeed(speed) {
  if (!Number.isInteger(speed) || speed < 1 || speed > 1000)
    throw refuse(`speed must be a whole number from 1 to 1000, not ${typeof speed === 'number' ? speed : kindOf(speed)}`);
  binding.testingSpeed(speed);
}

const URLS = '"s3://BUCKET/KEY", "az://ACCOUNT/CONTAINER/KEY", "gs://BUCKET/KEY", "file:///DIRECTORY/NAME"';

/* The stores whose further options go by the URL's scheme. */
const REMOTE = {
  s3: { scheme: 's3', parts: ['bucket'], known: S3, open: (options) => new S3Store(options) },
  azure: { scheme: 'az', parts: ['account', 'container'], known: AZURE, open: (options) => new AzureStore(options) },
  gcs: { scheme: 'gs', parts: ['bucket'], known: GCS, open: (options) => new GcsStore(options) },
};

/** The store and the key that a URL names; the key may be empty if it is a prefix. `options` may have the further
 * options of the store, by its name in REMOTE. */
function storeOfUrl(text, options, isPrefix = false) {
  const least = isPrefix ? 0 : 1;
  const scheme = /^(\w+):/.exec(text)?.[1];
  refuseOthers(options, scheme);
  for (const [name, { parts, known, open }] of Object.entries(REMOTE).filter(([, { scheme: own }]) => own === scheme)) {
    const further = options[name] ?? {};
    const [, ...found] = new RegExp(`^\\w+://${'([^/]+)/'.repeat(parts.length)}(.{${least},})$`).exec(text) ?? [];
    const twice = parts.find((part) => checked(name, further, known)[part] !== undefined);
    if (found.length > 0 && twice !== undefined)
      throw refuse(`${name}.${twice}: "${text}" names the ${twice} already`);
    if (found.length > 0)
      return { store: open({ ...further, ...Object.fromEntries(parts.map((part, i) => [part, found[i]])) }), key: found.at(-1) };
  }
  const [, directory, name] = new RegExp(`^file://(/.*?)/*([^/]{${least},})$`).exec(text) ?? [];
  if (directory)
    return { store: new FileStore(directory), key: name };
  throw refuse(`store must be ${URLS} or a store, not "${text}"`);
}

/** Refuses the further options of stores that have another scheme than this; with none, of all of them. */
function refuseOthers(options, scheme) {
  for (const [name, { scheme: own, parts }] of Object.entries(REMOTE)) {
    if (options[name] !== undefined && own !== scheme)
      throw refuse(`${name} goes with a store of the form "${own}://${parts.join('/').toUpperCase()}/KEY" only`);
  }
}

module.exports = { AzureStore, FileStore, GcsStore, MemoryStore, S3Store, Store, URLS, refuseOthers, request, storeOfUrl, testingSpeed };
