'use strict';

// The Azure store, on the fake Azure Blob Storage.

const assert = require('node:assert/strict');
const { after, before, describe, it } = require('node:test');

const { AzureStore, MemoryStore } = require('..');
const { electsByUrl, refused } = require('./elects');
const { FakeS3, QUICK } = require('./support');

const ACCOUNT = 'devstoreaccount1';
const KEY = 'Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==';

describe('Azure', { concurrency: true }, () => {
  let fake;
  before(async () => {
    fake = await FakeS3.start('--protocol', 'azure', '--key', `${ACCOUNT}:${KEY}`, '--key', 'application::of.the.application');
  });
  after(() => fake.stop());

  const azure = () => ({ endpoint: fake.endpoint, accountKey: KEY });

  it('holds an election that a URL names', (t) => electsByUrl(t, `az://${ACCOUNT}/locks/`, { azure: azure() }, QUICK));

  it('takes a token, or a function that gives it', async (t) => {
    const token = { token: 'of.the.application' };
    for (const credentials of [token, () => token, async () => ({ ...token, expiration: Date.now() + 1e6 })]) {
      const store = new AzureStore({ account: ACCOUNT, container: 'locks', endpoint: fake.endpoint, credentials });
      t.after(() => store.close());
      await store.put('state', 'text', { epoch: 5n });
      assert.equal((await store.get('state')).content.toString(), 'text');
    }
  });

  it('refuses what it cannot be', async () => {
    const store = `az://${ACCOUNT}/locks/k`;
    refused({ store: `az://${ACCOUNT}/k`, azure: azure() }, /^store must be "s3:\/\/BUCKET\/KEY", "az:\/\/ACCOUNT\/CONTAINER\/KEY"/);
    refused({ store, azure: { ...azure(), account: 'x' } }, /^azure.account: ".*" names the account already$/);
    refused({ store, azure: { acountKey: KEY } }, /^unknown option "acountKey" of azure/);
    refused({ store, azure: { accountKey: 'no base64' } }, /^accountKey: not an account key, which is base64$/);
    refused({ store, azure: { ...azure(), sasToken: 'sv=1&sig=x' } }, /^accountKey: give one only/);
    refused({ store, azure: { credentials: { token: '' } } }, /^credentials.token must be a string that is not empty$/);
    refused({ store, s3: {} }, /^s3 goes with a store of the form "s3:\/\/BUCKET\/KEY" only$/);
    refused({ store: 's3://bucket/k', azure: {} }, /^azure goes with a store of the form "az:\/\/ACCOUNT\/CONTAINER\/KEY" only$/);
    const memory = new MemoryStore();
    refused({ store: memory, lockfilePath: 'k', azure: {} }, /^azure goes with/);
    await memory.close();
  });
});
