'use strict';

// An elector's life: events, calls, and how it ends. On the fake S3, over real sockets.

const assert = require('node:assert/strict');
const { getEventListeners, once } = require('node:events');
const fs = require('node:fs');
const path = require('node:path');
const { after, before, describe, it } = require('node:test');
const { inspect } = require('node:util');
const { pathToFileURL } = require('node:url');

const { Elector, FileStore, MemoryStore, S3Store } = require('..');
const { refused } = require('./elects');
const { FakeS3, QUICK, ends, event, program, scratch } = require('./support');

describe('elector', { concurrency: true }, () => {
  let fake;
  before(async () => {
    fake = await FakeS3.start();
  });
  after(() => fake.stop());

  /** An elector on a lockfile of its own, which was released. */
  async function make(t, key, options = {}) {
    await fake.released(key);
    return another(t, key, { serverId: 'a', ...options });
  }

  function another(t, key, options = {}) {
    const { endpoint, region, accessKeyId, secretAccessKey } = fake.options;
    const elector = new Elector({
      store: `s3://bucket/${key}`,
      s3: { endpoint, region, accessKeyId, secretAccessKey },
      ...QUICK,
      ...options,
    });
    t.after(() => elector.close());
    return elector;
  }

  it('leads, resigns, and tells of it in this order', async (t) => {
    const e = await make(t, 'order');
    const seen = [];
    for (const type of ['leading', 'stopped', 'leader'])
      e.on(type, (event) => seen.push(event));
    assert.equal(e.isLeader, false);
    assert.equal(e.epoch, 0n);
    assert.equal(e.leader, null);
    assert.equal(e.validForMs, 0);
    assert.equal(inspect(e), "Elector { id: 'a', role: 'stopped', epoch: 0n }");
    await e.start();
    const [{ epoch, signal }] = await once(e, 'leading');
    assert.equal(epoch, 8n);
    assert.equal(e.isLeader, true);
    assert.equal(e.epoch, 8n);
    assert.equal(e.leader, 'a');
    assert.ok(e.validForMs > 0 && e.validForMs <= QUICK.leaderTimeoutMs);
    assert.equal(e.status().role, 'leader');
    assert.equal(inspect(e), "Elector { id: 'a', role: 'leader', epoch: 8n }");
    assert.equal(e.status().leaderEpoch, 8n);
    assert.equal(e.stats().leaderships, 1);
    assert.equal(signal.aborted, false);
    await once(e, 'renewed');
    await e.resign();
    assert.equal(e.isLeader, false);
    assert.equal(signal.aborted, true);
    assert.equal(signal.reason.name, 'AbortError');
    assert.equal(signal.reason.reason, 'resigned');
    assert.deepEqual(seen.filter(({ type }) => type !== 'leader').map(({ type, epoch, reason }) =>
      ({ type, epoch, reason })), [
      { type: 'leading', epoch: 8n, reason: undefined },
      { type: 'stopped', epoch: 8n, reason: 'resigned' },
    ]);
    assert.equal(seen.find(({ type }) => type === 'leader').leader, 'a');
    await assert.rejects(e.resign(), { code: 'S3LECT_EINVAL', message: 'the elector does not lead' });
    await e.close();
    assert.equal(await fake.isReleased('order'), true);
  });

  it('stands again after a stop', async (t) => {
    const e = await make(t, 'again');
    await e.start();
    await assert.rejects(e.start(), { code: 'S3LECT_EALREADY', errno: -114 });
    await once(e, 'leading');
    const stopped = once(e, 'stopped');
    await e.stop();
    assert.equal((await stopped)[0].reason, 'stopped');
    await assert.rejects(e.stop(), { code: 'S3LECT_EALREADY' });
    await e.start(); // the release may still be under way
    const [{ epoch }] = await once(e, 'leading');
    assert.equal(epoch, 9n);
  });

  it('waits for an earlier stop to end before it stands again', async (t) => {
    const e = await make(t, 'wait', { stopAckMs: 60000 });
    await e.start();
    await once(e, 'leading');
    await e.stop();
    const stopped = assert.rejects(e.start(), { code: 'S3LECT_ECANCELED', message: /stopped before it had started/ });
    await assert.rejects(e.start(), { code: 'S3LECT_EBUSY' }); // one waits, others do not
    await e.stop();
    await stopped;
    const starts = e.start();
    const leads = once(e, 'leading');
    assert.equal(await fake.isReleased('wait'), false);
    e.ack(8n);
    let code;
    do { // until the one that waits stands; no other one does before it
      await new Promise((resolve) => setImmediate(resolve));
      code = await e.start().then(() => 'none', (err) => err.code);
    } while (code === 'S3LECT_EBUSY');
    assert.equal(code, 'S3LECT_EALREADY');
    await starts;
    assert.equal((await leads)[0].epoch, 9n);
    await e.stop();
    const closed = assert.rejects(e.start(), { code: 'S3LECT_ECANCELED', message: 'the elector is closed' });
    e.ack(9n);
    await e.close();
    await closed;
  });

  it('elects by epoch files, too, and lets others look on', async (t) => {
    const options = { protocol: 'epochs', keepEpochs: true };
    const a = another(t, 'files/', { serverId: 'a', ...options });
    const observer = another(t, 'files/', { serverId: 'o', observer: true, ...options });
    await a.start();
    const [{ epoch }] = await once(a, 'leading');
    assert.ok(epoch > 0n && epoch < 1n << 34n); // the time in seconds
    const file = (n) => `files/lock-${String(n).padStart(10, '0')}.json`;
    assert.equal((await fake.record(file(epoch))).leaderID, 'a');
    const known = event(observer, 'leader');
    await observer.start();
    assert.deepEqual(await known, { type: 'leader', leader: 'a', address: null, epoch });
    await a.close();
    const b = another(t, 'files/', { serverId: 'b', ...options });
    await b.start();
    assert.equal((await once(b, 'leading'))[0].epoch, epoch + 1n);
    assert.equal((await fake.record(file(epoch))).expired, true); // kept
    assert.equal(observer.stats().writes, 0);
  });

  it('warns before a leadership ends that it cannot renew', async (t) => {
    const e = await make(t, 'warned', { warnBeforeMs: 800, renewDeadlineMs: 100 });
    const seen = [];
    e.on('error', () => {});
    for (const type of ['expiring', 'stopped'])
      e.on(type, ({ epoch }) => seen.push([type, epoch]));
    await e.start();
    await event(e, 'renewed');
    await fake.fault({ match: { method: 'PUT', key: 'warned' }, status: 503 });
    const { reason, epoch } = await event(e, 'stopped');
    assert.equal(reason, 'expired');
    assert.deepEqual(seen, [['expiring', epoch], ['stopped', epoch]]);
    await e.close();
  });

  it('changes its address and its intervals while it leads', async (t) => {
    const e = await make(t, 'updated', { serverAddr: '10.0.0.1:80' });
    await e.start();
    await event(e, 'renewed');
    assert.throws(() => e.update({ leaderTimeoutMs: 5000 }), { code: 'S3LECT_EBUSY', option: 'leaderTimeoutMs' });
    assert.throws(() => e.update({ renewIntervalMs: 2400 }), { code: 'S3LECT_ETIMING' });
    assert.throws(() => e.update({ serverAddr: 'x'.repeat(300) }), { code: 'S3LECT_EOPTION', option: 'serverAddr' });
    assert.throws(() => e.update({ serverId: 'b' }), { code: 'S3LECT_EOPTION', message: /unknown option "serverId"/ });
    e.update({ serverAddr: 'other.example.com:8080', renewIntervalMs: 300 });
    do
      await event(e, 'renewed');
    while ((await fake.record('updated')).leaderAddr !== 'other.example.com:8080');
    assert.equal((await fake.record('updated')).renewIntervalMs, 300);
    assert.equal(e.status().leaderAddr, 'other.example.com:8080');
    await e.close();
    assert.throws(() => e.update({ renewIntervalMs: 300 }), { code: 'S3LECT_ECANCELED' });
  });

  it('lets a candidate of higher priority go first', async (t) => {
    const slow = { leaderTimeoutMs: 8000, renewIntervalMs: 2000, frequentIntervalMs: 100, infrequentIntervalMs: 100 };
    const low = await make(t, 'priority', { ...slow, priority: 1, serverId: 'low' });
    const high = another(t, 'priority', { ...slow, serverId: 'high' });
    await Promise.all([low.start(), high.start()]);
    await event(high, 'leading');
    assert.equal(low.epoch, 0n);
    low.update({ priority: 2 });
    assert.throws(() => low.update({ priority: 7 }), { code: 'S3LECT_EOPTION', option: 'priority' });
    await Promise.all([low.close(), high.close()]);
  });

  it('publishes a value, which ends with its epoch', async (t) => {
    const a = await make(t, 'published', { serverId: 'a' });
    const b = await make(t, 'published', { serverId: 'b' });
    assert.throws(() => a.setValue('v'.repeat(1025)), { code: 'S3LECT_EOPTION' });
    a.setValue('one');
    await a.start();
    const { epoch } = await event(a, 'leading');
    const first = event(b, 'value');
    await b.start();
    assert.deepEqual(await first, { type: 'value', leader: 'a', value: 'one', epoch });
    const second = event(b, 'value');
    a.setValue('zwei \u{1F600}', { now: true });
    assert.equal((await second).value, 'zwei \u{1F600}');
    assert.equal(b.status().value, 'zwei \u{1F600}');
    assert.equal((await fake.record('published')).value, 'zwei \u{1F600}');
    const third = event(b, 'value');
    await a.close();
    assert.throws(() => a.setValue(null), { code: 'S3LECT_ECANCELED' });
    const last = await third;
    assert.deepEqual([last.leader, last.value], ['b', '']);
    assert.ok(last.epoch > epoch);
    await b.close();
  });

  it('gives up on a store that does not keep its conditions', async (t) => {
    const e = await make(t, 'unsafe', { verifyOnStart: true });
    await fake.fault({ match: { method: 'PUT', key: 'unsafe' }, ignore_conditions: true });
    const failed = event(e, 'error');
    await e.start();
    assert.equal((await failed).code, 'S3LECT_EUNSAFE');
    assert.equal(e.status().role, 'stopped');
    await assert.rejects(e.stop(), { code: 'S3LECT_EALREADY' });
    await e.close();

    const closing = await make(t, 'closing', { verifyOnStart: true }); // while it looks
    await closing.start();
    await closing.close();
  });

  it('hands over to the one that is named', async (t) => {
    const a = await make(t, 'transfer', { serverAddr: '10.0.0.1:443' });
    await a.start();
    await once(a, 'leading');
    const b = another(t, 'transfer', { serverId: 'b' });
    const known = once(b, 'leader');
    await b.start();
    assert.deepEqual((await known)[0], { type: 'leader', leader: 'a', address: '10.0.0.1:443', epoch: 8n });
    await assert.rejects(a.transfer('a'), { code: 'S3LECT_EOPTION' });
    await assert.rejects(b.transfer('a'), { code: 'S3LECT_EINVAL' });
    const leads = once(b, 'leading');
    await a.transfer('b');
    assert.equal((await leads)[0].epoch, 9n);
    assert.deepEqual([a.isLeader, b.isLeader], [false, true]);
  });

  it('is followed by another when it closes', async (t) => {
    const a = await make(t, 'close');
    await a.start();
    await once(a, 'leading');
    const b = another(t, 'close', { serverId: 'b' });
    await b.start();
    await once(b, 'leader');
    const stopped = once(a, 'stopped');
    const closed = once(a, 'close');
    const leads = once(b, 'leading');
    assert.equal(a.close(), a.close());
    await a.close();
    assert.equal((await stopped)[0].reason, 'closed');
    await closed;
    assert.equal(a.closed, true);
    assert.equal((await leads)[0].epoch, 9n);
    await assert.rejects(a.start(), { code: 'S3LECT_ECANCELED', message: 'the elector is closed' });
    assert.throws(() => a.status(), { code: 'S3LECT_ECANCELED' });
    assert.equal(a.isLeader, false);
    assert.equal(a.unref().ref(), a);
  });

  it('waits for ack before it releases', async (t) => {
    const e = await make(t, 'ack', { stopAckMs: 60000 });
    await e.start();
    await once(e, 'leading');
    const stopped = once(e, 'stopped');
    const stop = e.stop();
    const [{ epoch }] = await stopped;
    assert.throws(() => e.ack(), { code: 'S3LECT_EINVAL' });
    assert.throws(() => e.ack(Number(epoch)), { code: 'S3LECT_EINVAL' });
    e.ack(epoch - 1n); // the work of another leadership
    assert.equal(await fake.isReleased('ack'), false);
    e.ack(epoch);
    await stop;
    await e.close();
    assert.equal(await fake.isReleased('ack'), true);
  });

  it('is told by its epoch which leadership has ended', async (t) => {
    const e = await make(t, 'ack-epoch', { stopAckMs: 60000 });
    e.on('stopped', ({ epoch }) => e.ack(epoch));
    await e.start();
    await once(e, 'leading');
    await e.close();
    assert.equal(await fake.isReleased('ack-epoch'), true);
  });

  it('closes when its signal is aborted', async (t) => {
    const abort = new AbortController();
    const e = await make(t, 'abort', { signal: abort.signal });
    await e.start();
    await once(e, 'leading');
    abort.abort(new Error('enough'));
    await once(e, 'close');
    assert.equal(await fake.isReleased('abort'), true);
    await assert.rejects(e.start(), { message: 'enough' });

    // One listener serves all electors of a signal, and goes with the last of them.
    const shared = new AbortController();
    const electors = ['x', 'y', 'z'].map((key) => another(t, key, { signal: shared.signal }));
    assert.equal(getEventListeners(shared.signal, 'abort').length, 1);
    await Promise.all(electors.slice(1).map((elector) => elector.close()));
    assert.equal(getEventListeners(shared.signal, 'abort').length, 1);
    await electors[0].close();
    assert.equal(getEventListeners(shared.signal, 'abort').length, 0);
    const more = [another(t, 'x', { signal: shared.signal }), another(t, 'y', { signal: shared.signal })];
    const closed = Promise.all(more.map((elector) => event(elector, 'close')));
    shared.abort();
    await closed;

    const late = another(t, 'abort', { signal: AbortSignal.abort() });
    await assert.rejects(late.start(), { name: 'AbortError' });
    await late.close();
  });

  it('gives its events to an iterator, which ends when it closes', async (t) => {
    const e = await make(t, 'iterator');
    const types = [];
    await e.start();
    for await (const event of e.events()) {
      if (event.type === 'leader' || event.type === 'error')
        continue;
      types.push(event.type);
      if (event.type === 'leading')
        e.close();
    }
    assert.deepEqual(types, ['noLeader', 'leading', 'stopped']);
    assert.deepEqual(await e.events().next(), { value: undefined, done: true });
  });

  it('tells an iterator that comes late that it leads', async (t) => {
    const e = await make(t, 'late-iterator');
    await e.start();
    await once(e, 'leading');
    const events = e.events();
    const { value } = await events.next();
    assert.equal(value.type, 'leading');
    assert.equal(value.signal.aborted, false);
    // Those who wait are served in their order, and return ends the others.
    const waiting = [events.next(), events.next()];
    await e.resign();
    assert.equal((await waiting[0]).value.type, 'stopped');
    await events.return();
    assert.equal((await waiting[1]).done, true);
  });

  it('ends an iterator by a signal', async (t) => {
    const e = await make(t, 'iterator-abort');
    const abort = new AbortController();
    const next = e.events({ signal: abort.signal }).next();
    abort.abort();
    await assert.rejects(next, { name: 'AbortError' });
    assert.throws(() => e.events({ signal: abort.signal }), { name: 'AbortError' });
  });

  it('is disposed of by "await using"', async (t) => {
    const e = await make(t, 'using');
    await e.start();
    await once(e, 'leading');
    await e[Symbol.asyncDispose]();
    assert.equal(e.closed, true);
    assert.equal(await fake.isReleased('using'), true);
    let scope;
    try {
      scope = new (async () => {}).constructor('elector', 'await using it = elector; return it.closed;');
    } catch (err) {
      assert.ok(err instanceof SyntaxError); // of a Node that does not know it yet
      return;
    }
    const other = another(t, 'using');
    assert.equal(await scope(other), false);
    assert.equal(other.closed, true);
  });

  it('lives on a store that others use, too', async (t) => {
    const store = new S3Store(fake.options);
    await Promise.all(['shared-1', 'shared-2'].map((key) => fake.released(key)));
    const electors = ['shared-1', 'shared-2', 'shared-3'].map((lockfilePath) =>
      new Elector({ store, lockfilePath, ...QUICK }));
    await Promise.all(electors.slice(0, 2).map(async (e) => {
      await e.start();
      await once(e, 'leading');
    }));
    await store.close(); // closes them, the one that was never started included
    assert.deepEqual(electors.map((e) => e.closed), [true, true, true]);
    assert.equal(await fake.isReleased('shared-2'), true);
    assert.throws(() => new Elector({ store, lockfilePath: 'x' }),
      { code: 'S3LECT_ECANCELED', message: 'the store is closed' });
    await store.close();
  });

  it('elects in memory and in a directory', async (t) => {
    const directory = path.join(scratch(t), 'a place');
    fs.mkdirSync(directory);
    const file = new FileStore(pathToFileURL(directory));
    await Promise.all([new MemoryStore(), file].map(async (store) => {
      const e = new Elector({ store, lockfilePath: 'lock.json', ...QUICK });
      await e.start();
      const [{ epoch }] = await once(e, 'leading');
      assert.ok(epoch > 1n << 40n); // where there was no record: the time in ms
      await e.close();
      const next = new Elector({ store, lockfilePath: 'lock.json', ...QUICK });
      await next.start();
      assert.equal((await once(next, 'leading'))[0].epoch, epoch + 1n);
      await store.close();
      assert.equal(next.closed, true);
    }));
  });

  it('refuses options that cannot be, by their names here', () => {
    const store = new MemoryStore();
    const good = { store, lockfilePath: 'x' };
    refused({ ...good, leaderTimeout: 5 }, /unknown option "leaderTimeout" .* "leaderTimeoutMs"/);
    refused({ ...good, lockfilePath: '/jobs//x' }, /^lockfilePath "\/jobs\/\/x": has an empty segment .* write "jobs\/x"$/);
    refused({ ...good, lockfilePath: 'jobs/' }, /write "jobs"$/);
    refused({ ...good, timeout: 5 }, /unknown option "timeout" .* "leaderTimeoutMs"/);
    refused({ ...good, leaderTimeoutMs: '5' }, /^leaderTimeoutMs must be a number, not a string$/);
    refused({ ...good, leaderTimeoutMs: -1 }, /^leaderTimeoutMs must be a whole number from 0 to 4294967295, not -1$/);
    refused({ ...good, leaderTimeoutMs: NaN }, /^leaderTimeoutMs must be a whole number .* not NaN$/);
    refused({ ...good, leaderTimeoutMs: 2 ** 32 }, /^leaderTimeoutMs must be a whole number .* not 4294967296$/);
    refused({ ...good, noRelease: 1 }, /^noRelease must be true or false, not a number$/);
    refused({ ...good, expiry: 'never' }, /^expiry must be one of "observed", "store-clock", not "never"$/);
    refused({ ...good, expiry: 'store-clock' }, /^expiry: "store-clock" .* use "observed"/);
    refused({ ...good, protocol: 1n }, /^protocol must be one of "lockfile", "epochs", not a bigint$/);
    refused({ ...good, serverId: 'x'.repeat(256) }, /serverId/);
    refused({ ...good, serverId: 'a\0b' }, /^serverId must not contain U\+0000/);
    refused({ ...good, serverId: Symbol('x') }, /^serverId must be a string, not a symbol$/);
    refused({ ...good, signal: {} }, /^signal must be an AbortSignal/);
    refused({ ...good, signal: null }, /^signal must be an AbortSignal, not null$/);
    refused({ ...good, peerClient: 5 }, /^peerClient must be a PeerClient, not a number$/);
    refused({ ...good, s3: {} }, /^s3 goes with/);
    refused({ store }, /lockfilePath/);
    refused({ lockfilePath: 'x' }, /^store is required/);
    refused({ store: 'http://x/y' }, /^store must be "s3:/);
    refused({ store: 's3://bucket/key', s3: { endpont: '' } }, /unknown option "endpont" of s3/);
    refused({ store: 's3://bucket/key', s3: { endpoint: 'ftp://x' } }, /endpoint/);
    refused({ store: 's3://bucket/key', s3: 5 }, /^the options of s3 must be an object, not a number$/);
    refused({ store: 's3://bucket/key', s3: { bucket: 'other' } }, /^s3.bucket: /);
    refused({ store: 's3://bucket/key', s3: { headers: ['x'] } }, /^headers must be an object .* not an array$/);
    refused({ store: 's3://bucket/key', s3: { headers: { x: null } } }, /^headers: the value of "x" must be a string, not null$/);
    refused({ store: 's3://bucket/key', s3: { secretAccessKey: 5 } }, /^secretAccessKey must be a string, not a number$/);
    refused({ store: 's3://bucket/key', s3: { credentials: 5 } }, /^credentials must be an object or a function, not a number$/);
    refused({ store: 's3://bucket/key', s3: { credentials: {} } }, /^credentials.accessKeyId must be a string/);
    refused({ store: 's3://bucket/key', s3: { headers: { Host: 'x' } } }, /headers/);
    refused({ store: 's3://bucket/key', s3: { expectedBucketOwner: '1' } }, /expectedBucketOwner/);
    refused(undefined, /must be an object, not undefined$/);
    for (const directory of [undefined, '', 5, null])
      assert.throws(() => new FileStore(directory), { code: 'S3LECT_EOPTION', message: /^directory must be a path/ });
    assert.throws(() => new Elector({ ...good, leaderTimeoutMs: 1000 }),
      { code: 'S3LECT_ETIMING', option: 'leaderTimeoutMs', message: /^leaderTimeoutMs: 1000 ms is unsafe/ });
    assert.throws(() => new Elector({ store: 'file:///no/such/place' }),
      { code: 'S3LECT_ENOENT', option: 'directory', message: /^directory "\/no\/such": there is no such directory; make it first$/ });
    return store.close();
  });

  it('tells of errors, and goes on', async (t) => {
    const e = await make(t, 'errors');
    await fake.fault({ match: { key: 'errors' }, count: 3, status: 403, code: 'AccessDenied' });
    const failed = event(e, 'error');
    const leads = event(e, 'leading');
    await e.start();
    const err = await failed;
    assert.ok(err instanceof Error);
    assert.equal(err.code, 'S3LECT_EDENIED');
    assert.equal(err.errno, -5005);
    await leads;
  });

  const listener = (handler) => `
    ${handler}
    const elector = new s3lect.Elector({ store: 's3://bucket/' + input.key, s3: input.s3, ...input.quick });
    elector.on('leading', () => { throw new Error('out of a listener'); });
    elector.on('renewed', async () => {
      elector.removeAllListeners('renewed');
      await elector.close();
      console.log('went on');
    });
    await elector.start();`;

  it('leaves what its listeners throw to the process', async () => {
    await fake.released('throws');
    const { bucket, ...s3 } = fake.options;
    const input = { key: 'throws', s3, quick: QUICK };
    const caught = await ends(program(listener(
      'process.on("uncaughtException", (err) => console.log("caught", err.message));'), input));
    assert.deepEqual(caught, { code: 0, signal: null, stdout: 'caught out of a listener\nwent on\n', stderr: '' });

    await fake.released('throws');
    const not = await ends(program(listener(''), input));
    assert.equal(not.code, 1);
    assert.equal(not.stdout, '');
    assert.match(not.stderr, /Error: out of a listener/);
    assert.equal(await fake.isReleased('throws'), false); // as when any process dies
  });

  it('warns where nobody listens to errors', async () => {
    await fake.released('warns');
    await fake.fault({ match: { key: 'warns' }, count: 3, status: 403, code: 'AccessDenied' });
    const { bucket, ...s3 } = fake.options;
    const { code, stderr, stdout } = await ends(program(`
      const elector = new s3lect.Elector({ store: 's3://bucket/warns', s3: input.s3, ...input.quick });
      elector.on('leading', () => elector.close());
      await elector.start();`, { s3, quick: QUICK }));
    assert.equal(code, 0);
    assert.match(stderr, /\[S3LECT_EDENIED\] S3lectWarning: /);
    assert.equal(stdout, '');
  });
});
