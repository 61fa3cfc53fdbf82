'use strict';

// The store in Google Cloud Storage, on the fake one.

const assert = require('node:assert/strict');
const { after, before, describe, it } = require('node:test');

const { GcsStore, plan } = require('..');
const { electsByUrl, refused } = require('./elects');
const { FakeS3, QUICK } = require('./support');

const KEY = { accessKeyId: 'test', secretAccessKey: 'testtest' };

describe('Google Cloud Storage', { concurrency: true }, () => {
  let fake;
  before(async () => {
    fake = await FakeS3.start('--protocol', 'gcs', '--key', `${KEY.accessKeyId}:${KEY.secretAccessKey}`, '--key', 'account::of.the.account');
  });
  after(() => fake.stop());

  const gcs = () => ({ endpoint: fake.endpoint, ...KEY });
  const SLOW = { ...QUICK, leaderTimeoutMs: 5000, renewIntervalMs: 1000 };

  it('holds an election that a URL names', (t) => electsByUrl(t, 'gs://locks/', { gcs: gcs() }, SLOW));

  it('takes a token, or a function that gives it', async (t) => {
    const token = { token: 'of.the.account' };
    for (const [i, credentials] of [token, () => token, async () => KEY].entries()) {
      const store = new GcsStore({ bucket: 'locks', endpoint: fake.endpoint, credentials });
      t.after(() => store.close());
      await store.put(`state-${i}`, 'text', { epoch: 5n });
      assert.equal((await store.get(`state-${i}`)).content.toString(), 'text');
    }
  });

  it('refuses what it cannot be', () => {
    const store = 'gs://locks/k';
    refused({ store, gcs: gcs(), renewIntervalMs: 999 }, /^renewIntervalMs: 999 ms is too short for this store, .*; raise it to 1000 ms or more$/);
    refused({ store, gcs: { ...gcs(), bucket: 'x' } }, /^gcs.bucket: ".*" names the bucket already$/);
    refused({ store, gcs: { acessKeyId: 'x' } }, /^unknown option "acessKeyId" of gcs/);
    refused({ store, gcs: { endpoint: 'http://gcs.example' } }, /^endpoint ".*": tokens are not sent over plain http/);
    refused({ store, s3: {} }, /^s3 goes with a store of the form "s3:\/\/BUCKET\/KEY" only$/);
    refused({ store: 's3://bucket/k', gcs: {} }, /^gcs goes with a store of the form "gs:\/\/BUCKET\/KEY" only$/);
    assert.match(plan({ store }).prices, /^Google Cloud Storage/);
  });
});
