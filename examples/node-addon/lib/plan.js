'use strict';

// What an election with given options does and costs.

const binding = require('./binding');
const { AZURE, ELECTOR, EXPIRY, GCS, PROTOCOL, S3, checked, choice, kindOf, refuse, spelled } = require('./options');

const PLAN = [...ELECTOR, 'peers', 'latencyMs', 'electors'];
const PEERS = ['none', 'tls', 'plain'];

// In the order of s3lect_plan_store_t.
const URLS = [
  /^file:\/\/\/(?:.*\/)?(?<key>[^/]*)$/,
  /^s3:\/\/(?<bucket>[^/]+)\/(?<key>.*)$/,
  /^az:\/\/[^/]+\/(?<bucket>[^/]+)\/(?<key>.*)$/,
  /^gs:\/\/(?<bucket>[^/]+)\/(?<key>.*)$/,
];

// Where their further options are.
const FURTHER = [undefined, 's3', 'azure', 'gcs'];

/** The kind of store, and the bucket or container and the key that a URL names. */
function partsOf(url) {
  for (const [store, form] of URLS.entries()) {
    const found = form.exec(url);
    if (typeof url === 'string' && found !== null)
      return { store, bucket: found.groups.bucket, key: found.groups.key };
  }
  throw refuse('store must be "s3://BUCKET/KEY", "az://ACCOUNT/CONTAINER/KEY", "gs://BUCKET/KEY" or ' +
    `"file:///DIRECTORY/NAME", not ${typeof url === 'string' ? `"${url}"` : kindOf(url)}`);
}

/** What the options of an elector do and cost; nothing is opened or asked. */
function plan(options) {
  const elector = checked('plan', options, PLAN);
  const { store, bucket, key } = partsOf(options.store);
  const s3 = checked('s3', options.s3 ?? {}, S3);
  checked('azure', options.azure ?? {}, AZURE);
  checked('gcs', options.gcs ?? {}, GCS);
  const { maxConnections } = options[FURTHER[store]] ?? {};
  elector.lockfilePath ??= key;
  elector.expiry = choice('expiry', options.expiry, EXPIRY);
  elector.protocol = choice('protocol', options.protocol, PROTOCOL);
  const peers = choice('peers', options.peers, PEERS) ?? (options.peerClient === undefined ? 0 : 1);
  const { latencyMs, electors } = options;
  const { serverSideEncryption, sseKmsKeyId } = s3;
  try {
    const made = binding.plan(elector, { store, peers, bucket, latencyMs, electors, maxConnections,
      customEndpoint: s3.endpoint !== undefined, serverSideEncryption, sseKmsKeyId });
    made.advice.forEach(spelled);
    return made;
  } catch (err) {
    throw spelled(err);
  }
}

module.exports = { plan };
