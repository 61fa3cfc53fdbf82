'use strict';

// Fenced objects: what only the newest leader can write.

const assert = require('node:assert/strict');
const { after, before, describe, it } = require('node:test');

const { Elector, MemoryStore, S3Store } = require('..');
const { FakeS3, QUICK, event } = require('./support');

describe('fenced objects', () => {
  let fake;
  before(async () => {
    fake = await FakeS3.start();
  });
  after(() => fake.stop());

  const kinds = {
    'of S3': () => new S3Store(fake.options),
    'in memory': () => new MemoryStore(),
  };
  for (const [name, make] of Object.entries(kinds)) {
    it(`${name} refuse a deposed leader`, async (t) => {
      const store = make();
      t.after(() => store.close());
      assert.equal(await store.get('object'), null);
      await store.put('object', 'first', { epoch: 5n });
      const { content, epoch } = await store.get('object', { epoch: 7n });
      assert.equal(content.toString(), 'first');
      assert.equal(epoch, 7n);
      await assert.rejects(store.put('object', 'late', { epoch: 6n }), { code: 'S3LECT_EFENCED', epoch: 7n });
      await store.put('object', new Uint8Array([0, 1, 255]), { epoch: 7n });
      assert.deepEqual([...(await store.get('object')).content], [0, 1, 255]);
      await store.put('empty', '', { epoch: 1n });
      assert.equal((await store.get('empty')).content.length, 0);
    });
  }

  it('take the epoch of an elector', async (t) => {
    const store = new MemoryStore();
    t.after(() => store.close());
    const e = new Elector({ store, lockfilePath: 'lock', ...QUICK });
    await e.start();
    const { epoch } = await event(e, 'leading');
    await store.put('state', 'mine', { epoch });
    assert.equal((await store.get('state')).epoch, epoch);
    await assert.rejects(store.put('lock', 'x', { epoch }), { code: 'S3LECT_EBADFENCE' });
  });

  it('end with their store', async () => {
    const store = new S3Store({ ...fake.options, endpoint: 'http://127.0.0.1:1' });
    const put = store.put('object', 'x', { epoch: 1n });
    await Promise.all([assert.rejects(put, { code: 'S3LECT_ECANCELED' }), store.close()]);
    await assert.rejects(store.get('object'), { code: 'S3LECT_ECANCELED' });
  });

  it('refuse bad input with the name of what is wrong', async (t) => {
    const store = new MemoryStore();
    t.after(() => store.close());
    const bad = [
      [['', 'x', { epoch: 1n }], /^key must be/],
      [['a\0b', 'x', { epoch: 1n }], /^key must be/],
      [['k'.repeat(1025), 'x', { epoch: 1n }], /^key must be/],
      [['k', 5, { epoch: 1n }], /^content must be/],
      [['k', 'x'], /^epoch must be/],
      [['k', 'x', { epoch: 5 }], /^epoch must be/],
      [['k', 'x', { epoch: 0n }], /^epoch must be/],
      [['k', 'x', { epoch: 2n ** 64n }], /^epoch must be/],
      [['k', 'x', { epoch: 1n, timeoutMs: 0 }], /^timeoutMs must be/],
    ];
    for (const [args, message] of bad)
      await assert.rejects(store.put(...args), { code: 'S3LECT_EOPTION', message });
  });
});
