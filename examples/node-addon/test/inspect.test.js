'use strict';

// What elections look like from outside, over real sockets and on the other stores.

const assert = require('node:assert/strict');
const { after, before, describe, it } = require('node:test');

const { Elector, FileStore, MemoryStore, S3Store, list } = require('..');
const { FakeS3, QUICK, event, scratch } = require('./support');

describe('list', () => {
  let fake;
  before(async () => {
    fake = await FakeS3.start();
  });
  after(() => fake.stop());

  const kinds = {
    'of S3': () => new S3Store(fake.options),
    'in a directory': (t) => new FileStore(scratch(t)),
    'in memory': () => new MemoryStore(),
  };
  for (const [name, make] of Object.entries(kinds)) {
    it(`finds elections ${name}`, async (t) => {
      const store = make(t);
      t.after(() => store.close());
      assert.deepEqual(await list({ store, prefix: 'found/' }), []);
      const one = new Elector({ store, lockfilePath: 'found/one', serverId: 'a', serverAddr: 'h:1', ...QUICK });
      const two = new Elector({ store, lockfilePath: 'found/two/', protocol: 'epochs', serverId: 'b', ...QUICK });
      one.setValue('v1');
      await Promise.all([one.start(), two.start()]);
      await Promise.all([event(one, 'leading'), event(two, 'leading')]);
      await store.put('found/x', 'no election', { epoch: 1n });
      const found = await list({ store, prefix: 'found/' });
      assert.deepEqual(found.map(({ key, protocol, state, leaderId, epoch, value }) =>
        ({ key, protocol, state, leaderId, epoch, value })), [
        { key: 'found/one', protocol: 'lockfile', state: 'led', leaderId: 'a', epoch: one.epoch, value: 'v1' },
        { key: 'found/two/', protocol: 'epochs', state: 'led', leaderId: 'b', epoch: two.epoch, value: '' },
      ]);
      assert.equal(found[0].leaderAddr, 'h:1');
      assert.equal(found[0].leaderTimeoutMs, QUICK.leaderTimeoutMs);
      assert.ok(found[0].ageMs >= 0 && found[0].byStore);
      await Promise.all([one.close(), two.close()]);
      const [{ state }] = await list({ store, lockfilePath: 'found/two/', protocol: 'epochs' });
      assert.equal(state, 'released');
      const [{ state: none }] = await list({ store, lockfilePath: 'found/none' });
      assert.equal(none, 'absent');
    });
  }

  it('opens the store that a URL names', async (t) => {
    const { endpoint, region, accessKeyId, secretAccessKey } = fake.options;
    const s3 = { endpoint, region, accessKeyId, secretAccessKey };
    await fake.released('urls/a');
    const [{ key, state }] = await list({ store: 's3://bucket/urls/', s3 });
    assert.deepEqual([key, state], ['urls/a', 'released']);
    assert.deepEqual(await list({ store: `file://${scratch(t)}/` }), []);
    await assert.rejects(list({ store: 's3://bucket/urls/', s3: { ...s3, secretAccessKey: 'wrong' } }),
      { code: 'S3LECT_ESIGNATURE' });
  });

  it('ends with its signal and with its store', async () => {
    const silent = { ...fake.options, endpoint: 'http://192.0.2.1:1' };
    const store = new S3Store(silent);
    const controller = new AbortController();
    const aborted = list({ store, signal: controller.signal });
    controller.abort(new Error('enough'));
    await assert.rejects(aborted, { message: 'enough' });
    await assert.rejects(list({ store, signal: controller.signal }), { message: 'enough' });
    const left = list({ store });
    await Promise.all([assert.rejects(left, { code: 'S3LECT_ECANCELED' }), store.close()]);
    await assert.rejects(list({ store }), { code: 'S3LECT_ECANCELED' });
  });

  it('refuses bad input with the name of what is wrong', async (t) => {
    const store = new MemoryStore();
    t.after(() => store.close());
    const bad = [
      [{ store, nonsense: 1 }, /^unknown option "nonsense" of list/],
      [{ store, protocol: 'x' }, /^protocol must be/],
      [{ store, prefix: 'a', lockfilePath: 'b' }, /^prefix "a": give either/],
      [{ store, lockfilePath: '' }, /^lockfilePath "": must not be empty/],
      [{ store, prefix: 'p'.repeat(1025) }, /^prefix: longer than/],
      [{ store, signal: 5 }, /^signal must be/],
      [{ store, s3: {} }, /^s3 goes with/],
      [{ store: 'ftp://x/y' }, /^store must be/],
    ];
    for (const [options, message] of bad)
      await assert.rejects(list(options), { code: 'S3LECT_EOPTION', message });
    await assert.rejects(list({}), { code: 'S3LECT_EINVAL' });
    await assert.rejects(list(), { code: 'S3LECT_EOPTION' });
    await assert.rejects(list({ store, requestTimeoutMs: -1 }), /requestTimeoutMs/);
  });
});
