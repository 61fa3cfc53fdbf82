'use strict';

// What elections look like from outside, over real sockets and on the other stores.

const assert = require('node:assert/strict');
const { after, before, describe, it } = require('node:test');

const { Elector, FileStore, MemoryStore, S3Store, audit, list } = require('..');
const { FakeS3, QUICK, event, scratch } = require('./support');

describe('list', { concurrency: true }, () => {
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
      [{ store, prefix: 'p'.repeat(1025) }, /^prefix: its keys are longer than 1024 bytes/],
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

describe('audit', { concurrency: true }, () => {
  let fake;
  before(async () => {
    fake = await FakeS3.start();
  });
  after(() => fake.stop());

  /* A log of one leadership, in ms of lease time. */
  function log(id, epoch, from, until) {
    const line = (event, at, validUntil) => JSON.stringify({
      event, id, epoch, lease_ns: at * 1e6, valid_until_ns: validUntil * 1e6, reason: 'closed',
      time: new Date(Date.UTC(2026, 0, 1) + at).toISOString(),
    }) + '\n';
    return line('started_leading', from, from + 3000) + line('stopped_leading', until, until);
  }

  it('judges logs', async () => {
    const good = await audit({ logs: [log('a', 7, 1000, 5000), Buffer.from(log('b', 8, 9000, 9500)), '\n'] });
    assert.deepEqual(good.findings, []);
    assert.equal(good.wrong, false);
    assert.equal(good.sources, 2);
    assert.deepEqual(good.leaderships.map(({ id, epoch, ended, reason, from, until }) =>
      ({ id, epoch, ended, reason, ms: until - from })), [
      { id: 'a', epoch: 7n, ended: true, reason: 'closed', ms: 4000 },
      { id: 'b', epoch: 8n, ended: true, reason: 'closed', ms: 500 },
    ]);
    const logs = [log('a', 7, 1000, 5000), log('b', 8, 4500, 6000) + '{"event":"started_lea'];
    const bad = await audit({ logs, oneMachine: true });
    assert.equal(bad.wrong, true);
    assert.equal(bad.findings.length, 1);
    const [{ what, first, second, ms }] = bad.findings;
    assert.deepEqual([what, first.epoch, second.epoch, ms], ['overlap', 7n, 8n, 500]);
    assert.equal((await audit({ logs })).findings[0].what, 'possible_overlap');
    assert.equal((await audit({ logs, clockErrorMs: 249 })).findings[0].what, 'overlap');
    assert.deepEqual((await audit({ logs: [] })).leaderships, []);
  });

  const kinds = {
    'of S3': () => new S3Store(fake.options),
    'in a directory': (t) => new FileStore(scratch(t)),
    'in memory': () => new MemoryStore(),
  };
  for (const [name, make] of Object.entries(kinds)) {
    it(`reads kept epoch files ${name}`, async (t) => {
      const store = make(t);
      t.after(() => store.close());
      for (const serverId of ['a', 'b']) {
        const e = new Elector({ store, lockfilePath: 'kept/', protocol: 'epochs', keepEpochs: true, serverId, ...QUICK });
        await e.start();
        await event(e, 'leading');
        await e.close();
      }
      const { findings, leaderships, wrong } = await audit({ store, lockfilePath: 'kept/', protocol: 'epochs' });
      assert.deepEqual(findings.filter(({ what }) => what !== 'possible_overlap'), []);
      assert.equal(wrong, false);
      assert.deepEqual(leaderships.map(({ id, reason }) => [id, reason]), [['a', 'released'], ['b', 'released']]);
    });
  }

  it('ends with its signal and with its store', async () => {
    const store = new S3Store({ ...fake.options, endpoint: 'http://192.0.2.1:1' });
    const controller = new AbortController();
    const aborted = audit({ store, lockfilePath: 'x', signal: controller.signal });
    controller.abort(new Error('enough'));
    await assert.rejects(aborted, { message: 'enough' });
    const left = audit({ store, lockfilePath: 'x' });
    await Promise.all([assert.rejects(left, { code: 'S3LECT_ECANCELED' }), store.close()]);
  });

  it('refuses bad input with the name of what is wrong', async (t) => {
    const store = new MemoryStore();
    t.after(() => store.close());
    const bad = [
      [{ logs: 'text' }, /^logs must be an array/],
      [{ logs: [5] }, /^logs must be strings/],
      [{ logs: [], store }, /^store: give either/],
      [{ logs: [], nonsense: 1 }, /^unknown option "nonsense" of audit/],
      [{ store }, /^lockfilePath: missing/],
      [{ store, lockfilePath: 'x', protocol: 'y' }, /^protocol must be/],
    ];
    for (const [options, message] of bad)
      await assert.rejects(audit(options), { code: 'S3LECT_EOPTION', message });
    await assert.rejects(audit({ logs: ['', log('a', 1, 1, 2) + '\nhello\n'] }),
      { code: 'S3LECT_ERECORD', message: /^logs\[1\], line 4: no event/ });
    await assert.rejects(audit({ store, lockfilePath: 'x' }), { code: 'S3LECT_ENOSYS' });
    await assert.rejects(audit({ logs: [], clockErrorMs: 'x' }), /clockErrorMs/);
  });
});
