'use strict';

// What a plan says; whether its times are right is shown by test/sim/test-plan.c.

const assert = require('node:assert/strict');
const { it } = require('node:test');

const { PeerClient, plan } = require('..');

const STORE = 's3://bucket/locks/db';

it('says what the default options do and cost', () => {
  assert.deepEqual(plan({ store: STORE }), {
    crash: { worstMs: 21100, meanMs: 15600 },
    lostMachine: { worstMs: 21100, meanMs: 15600 },
    handOver: { worstMs: 5950, meanMs: 2950 },
    firstStart: { worstMs: 17100, meanMs: 16650 },
    leader: { puts: 576000, lists: 0, gets: 0, usd: 2.88 },
    follower: { puts: 0, lists: 0, gets: 576000, usd: 0.2304 },
    connections: 0,
    prices: 'AWS S3 Standard, us-east-1, aws.amazon.com/s3/pricing',
    pricesDate: '2026-11',
    policy: plan({ store: STORE }).policy,
    advice: [],
  });
});

it('knows the prices and permissions of each store', () => {
  const actions = (store) => {
    const { policy } = plan({ store });
    const role = JSON.parse(policy);
    return role.Statement?.flatMap(({ Action }) => Action) ?? role.DataActions ?? role.includedPermissions;
  };
  assert.deepEqual(actions(STORE), ['s3:GetObject', 's3:PutObject', 's3:ListBucket']);
  assert.deepEqual(actions('s3://locks--usw2-az1--x-s3/db'), ['s3express:CreateSession']);
  assert.deepEqual(actions('az://account/container/db').map((name) => name.split('/').pop()), ['read', 'write']);
  assert.deepEqual(actions('gs://bucket/db').map((name) => name.split('.').pop()), ['get', 'list', 'create', 'delete']);
  assert.match(plan({ store: 'az://account/container/db' }).prices, /^Azure Blob Storage, hot LRS/);
  assert.match(plan({ store: 'gs://bucket/db' }).prices, /^Google Cloud Storage Standard/);
  const { leader, policy, prices } = plan({ store: 'file:///var/lib/db.lock' });
  assert.deepEqual([leader.usd, policy, prices], [undefined, undefined, undefined]);
  const { Statement } = JSON.parse(plan({ store: 's3://b/x/', protocol: 'epochs',
    s3: { serverSideEncryption: 'aws:kms', sseKmsKeyId: 'k' } }).policy);
  assert.deepEqual(Statement.map(({ Resource }) => Resource),
    ['arn:aws:s3:::b/x/lock-*', 'arn:aws:s3:::b', 'arn:aws:kms:*:*:key/k']);
});

it('advises, with the options as they are spelled here', () => {
  const advice = (options) => plan({ store: STORE, ...options }).advice;
  assert.deepEqual(advice({ noRelease: true }), [
    { kind: 'wasteful', option: 'noRelease', message: 'noRelease: an orderly end takes as long as a crash; leave it out' },
  ]);
  const [{ kind, option, message }] = advice({ latencyMs: 4000 });
  assert.deepEqual([kind, option], ['unsafe', 'requestTimeoutMs']);
  assert.match(message, /^requestTimeoutMs: 3000 ms is less than the 4000 ms of a request/);
  assert.equal(advice({ expiry: 'store-clock' })[0].kind, 'unsafe');
  assert.equal(advice({ peers: 'plain' })[0].option, 'peers');
  const many = { electors: 10000, latencyMs: 50 };
  assert.equal(plan({ store: STORE, ...many }).connections, 100);
  assert.match(advice(many)[0].message, /^electors: need 100 connections, and the store has 64;/);
  assert.deepEqual(advice({ ...many, s3: { maxConnections: 200 } }), []);
  assert.deepEqual(plan({ store: 'az://a/c/k', ...many, azure: { maxConnections: 200 } }).advice, []);
  assert.equal(plan({ store: 'az://a/c/k', ...many, s3: { maxConnections: 200 } }).advice.length, 1);
  assert.equal(advice({ protocol: 'epochs' })[0].option, 'protocol');
  assert.deepEqual(advice({ protocol: 'epochs', s3: { endpoint: 'https://minio.example.com' } }), []);
});

it('takes the options of an elector', async () => {
  const peerClient = new PeerClient();
  const { follower } = plan({ store: STORE, serverId: 'a', peerClient, signal: AbortSignal.abort() });
  await peerClient.close();
  assert.equal(follower.gets, 0);
  assert.ok(plan({ store: STORE, peers: 'none' }).follower.gets > 0);
});

it('refuses what an elector refuses', () => {
  const bad = [
    [{ store: STORE, leaderTimeoutMs: 1000 }, 'S3LECT_ETIMING', /^leaderTimeoutMs: 1000 ms is unsafe/],
    [{ store: 'gs://b/k', renewIntervalMs: 999 }, 'S3LECT_EOPTION', /^renewIntervalMs: 999 ms is too short for this store/],
    [{ store: STORE, leaderTimeout: 1 }, 'S3LECT_EOPTION', /^unknown option "leaderTimeout" of plan: is it "leaderTimeoutMs"/],
    [{ store: STORE, s3: { regoin: 'x' } }, 'S3LECT_EOPTION', /^unknown option "regoin" of s3/],
    [{ store: 'az://a/c/k', azure: { sas: 'x' } }, 'S3LECT_EOPTION', /^unknown option "sas" of azure: is it "sasToken"/],
    [{ store: STORE, latencyMs: -1 }, 'S3LECT_EOPTION', /^latencyMs must be a whole number/],
    [{ store: STORE, peers: 'some' }, 'S3LECT_EOPTION', /^peers must be one of "none", "tls", "plain"/],
    [{ store: 's3://bucket' }, 'S3LECT_EOPTION', /^store must be "s3:.*, not "s3:\/\/bucket"/],
    [{ store: 'az://account/key' }, 'S3LECT_EOPTION', /^store must be /],
    [{}, 'S3LECT_EOPTION', /^store must be .*, not undefined/],
    [undefined, 'S3LECT_EOPTION', /^the options of plan must be an object/],
    [{ store: 's3://bucket/' }, 'S3LECT_EOPTION', /^lockfilePath: missing/],
  ];
  for (const [options, code, message] of bad)
    assert.throws(() => plan(options), { code, message });
});
