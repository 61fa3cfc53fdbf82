'use strict';

// Fast time and the faults of stores in memory, with default options. Each file of tests is a process.

const assert = require('node:assert/strict');
const { it } = require('node:test');

const { Elector, FileStore, MemoryStore, testingSpeed } = require('..');
const { event } = require('./support');

testingSpeed(100);

it('an election with default options takes a moment, and has the faults of its stores', async (t) => {
  const bucket = new MemoryStore();
  const stores = [bucket.share(), new MemoryStore({ share: bucket })];
  const electors = stores.map((store, i) => new Elector({ store, lockfilePath: 'x', serverId: `s${i}` }));
  t.after(() => Promise.all([bucket, ...stores].map((store) => store.close())));
  await electors[0].start();
  const { epoch } = await event(electors[0], 'leading');
  await electors[1].start();
  stores[0].fault('loses-replies');
  while (electors[0].stats().unknownResolved < 2)
    await new Promise((resolve) => setImmediate(resolve));
  assert.equal(electors[0].epoch, epoch);
  stores[0].fault('silent');
  const [stopped, leading] = await Promise.all([event(electors[0], 'stopped'), event(electors[1], 'leading')]);
  assert.equal(stopped.reason, 'expired');
  assert.ok(leading.epoch > epoch);
});

it('is refused where it could do harm, and bad input is', async () => {
  const files = new FileStore('.');
  assert.throws(() => new Elector({ store: files, lockfilePath: 'x' }), { code: 'S3LECT_EOPTION', option: 'store' });
  assert.throws(() => testingSpeed(10), { code: 'S3LECT_EBUSY' });
  for (const speed of [0, 1001, 1.5, '5', undefined])
    assert.throws(() => testingSpeed(speed), { code: 'S3LECT_EOPTION' });
  assert.throws(() => new MemoryStore({ share: files }), { code: 'S3LECT_EINVAL' });
  assert.throws(() => new MemoryStore({ share: {} }), { code: 'S3LECT_EINVAL' });
  const store = new MemoryStore();
  assert.throws(() => store.fault('broken'), { code: 'S3LECT_EOPTION' });
  store.fault('works');
  await Promise.all([files.close(), store.close()]);
  assert.throws(() => store.fault('works'), { code: 'S3LECT_ECANCELED' });
});
