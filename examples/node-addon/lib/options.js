'use strict';

// Options: those of s3lect/elector.h, s3lect/store.h, s3lect/store_*.h and s3lect/peer.h, in JavaScript's spelling. What
// their values may be is checked by the native part.

const binding = require('./binding');

// The native part lists the options that it reads; the others are read here.
const ELECTOR = ['store', 's3', 'azure', 'gcs', 'peerClient', 'signal', ...binding.Elector.options];
const S3 = ['credentials', 'headers', ...binding.Store.options];
const AZURE = ['credentials', ...binding.Store.azureOptions];
const GCS = ['credentials', ...binding.Store.gcsOptions];
const PEER_CLIENT = binding.PeerClient.options;
const PEER_SERVER = binding.PeerServer.options;

const ADDRESSING = ['auto', 'path', 'virtual-host'];
const EXPIRY = ['observed', 'store-clock'];
const PROTOCOL = ['lockfile', 'epochs'];

// What the native part calls the options.
const snakes = new Map([...S3, ...AZURE, ...GCS, ...ELECTOR, ...PEER_CLIENT, ...PEER_SERVER].map((name) =>
  [name.replace(/[A-Z]/g, (letter) => '_' + letter.toLowerCase()), name]));
// Text in PEM goes by Node's names.
for (const name of ['ca', 'cert', 'key'])
  snakes.set(`${name}_pem`, name);
snakes.set('client_ca_pem', 'clientCa');

/** An Error of the native part, whose message begins with the option, spelled as it is here. */
function spelled(err) {
  const name = snakes.get(err?.option);
  if (name !== undefined) {
    err.message = name + err.message.slice(err.option.length);
    err.option = name;
  }
  return err;
}

/** new Class(...args), whose errors name options as they are spelled here. */
function construct(Class, ...args) {
  try {
    return new Class(...args);
  } catch (err) {
    throw spelled(err);
  }
}

function refuse(message) {
  return Object.assign(new TypeError(message), { code: 'S3LECT_EOPTION' });
}

/** "null", "a string": never the value, which may be a secret. */
function kindOf(value) {
  if (value === null || value === undefined)
    return String(value);
  if (Array.isArray(value))
    return 'an array';
  return typeof value === 'object' ? 'another object' : `a ${typeof value}`;
}

/** A copy of `options`; refuses names that there are not, which would else go unnoticed. */
function checked(what, options, known) {
  if (options === null || typeof options !== 'object')
    throw refuse(`the options of ${what} must be an object, not ${kindOf(options)}`);
  for (const name of Object.keys(options)) {
    if (!known.includes(name)) {
      const part = name.toLowerCase();
      const near = known.find((other) => other.toLowerCase().startsWith(part)) ??
        known.find((other) => other.toLowerCase().includes(part));
      throw refuse(`unknown option "${name}" of ${what}: ` +
        (near ? `is it "${near}"?` : `there are ${known.join(', ')}`));
    }
  }
  return { ...options };
}

/** The number of a word. */
function choice(name, value, words) {
  if (value === undefined || value === null)
    return undefined;
  const number = words.indexOf(value);
  if (number < 0) {
    const given = typeof value === 'string' ? JSON.stringify(value) : kindOf(value);
    throw refuse(`${name} must be one of "${words.join('", "')}", not ${given}`);
  }
  return number;
}

module.exports = {
  ADDRESSING, AZURE, ELECTOR, EXPIRY, GCS, PEER_CLIENT, PEER_SERVER, PROTOCOL, S3,
  checked, choice, construct, kindOf, refuse, spelled,
};
