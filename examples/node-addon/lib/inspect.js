'use strict';

// What elections look like from outside: without an elector.

const binding = require('./binding');
const { PROTOCOL, checked, choice, kindOf, refuse, spelled } = require('./options');
const { checkSignal } = require('./signals');
const { refuseOthers, request, storeOfUrl } = require('./store');

const LIST = ['store', 's3', 'azure', 'gcs', 'prefix', 'lockfilePath', 'protocol', 'leaderTimeoutMs', 'requestTimeoutMs', 'signal'];
const AUDIT = ['logs', 'store', 's3', 'azure', 'gcs', 'lockfilePath', 'protocol', 'leaderTimeoutMs', 'requestTimeoutMs', 'signal',
  'oneMachine', 'clockErrorMs', 'maxVersions'];

/* A request whose errors name options as they are spelled here. */
async function asked(...args) {
  try {
    return await request(...args);
  } catch (err) {
    throw spelled(err);
  }
}

/** Gives `use` the store of the options, and the key if they name it: then the store is closed in the end. */
async function withStore(options, isPrefix, use) {
  if (typeof options.store !== 'string') {
    refuseOthers(options);
    return use(options.store);
  }
  const { store: opened, key } = storeOfUrl(options.store, options, isPrefix);
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

function logOf(log) {
  if (typeof log === 'string')
    return Buffer.from(log);
  if (ArrayBuffer.isView(log))
    return Buffer.from(log.buffer, log.byteOffset, log.byteLength);
  throw refuse(`logs must be strings or Buffers, not ${kindOf(log)}`);
}

function auditLogs(native, logs) {
  if (!Array.isArray(logs))
    throw refuse(`logs must be an array, not ${kindOf(logs)}`);
  for (const name of ['store', 's3', 'azure', 'gcs', 'lockfilePath', 'protocol'])
    if (native[name] !== undefined)
      throw refuse(`${name}: give either this or logs`);
  return binding.auditLogs(native, logs.map(logOf));
}

/** Whether two leaders of one election ever led together, by logs or by what a store remembers. */
async function audit(options) {
  const native = checked('audit', options, AUDIT);
  checkSignal(options.signal);
  native.protocol = choice('protocol', options.protocol, PROTOCOL);
  if (options.logs !== undefined)
    return found(auditLogs(native, options.logs));
  return withStore(options, false, async (store, key) => {
    native.lockfilePath ??= key;
    return found(await asked(store, options.signal, 'audit', native));
  });
}

/* Findings with their leaderships, in place of the numbers of these. */
function found(judgement) {
  const { findings, leaderships } = judgement;
  const all = findings.map((f) => ({ ...f, first: leaderships[f.first], second: leaderships[f.second] }));
  return { ...judgement, findings: all };
}

module.exports = { audit, list };
