'use strict';

// Nothing is left behind: handles, memory, threads, processes.

const assert = require('node:assert/strict');
const { once } = require('node:events');
const path = require('node:path');
const { after, before, describe, it } = require('node:test');
const { Worker } = require('node:worker_threads');

const { Elector, FileStore, MemoryStore, PeerClient, PeerServer, S3Store } = require('..');
const { blocks } = require('../lib/binding');
const { FakeS3, PACKAGE, QUICK, collectUntil, ends, gc, handles, program, scratch } = require('./support');

const WORKER = `
  const { parentPort, workerData: input } = require('node:worker_threads');
  const s3lect = require(${JSON.stringify(PACKAGE)});
  const elector = new s3lect.Elector({ store: 's3://bucket/' + input.key, s3: input.s3, ...input.quick });
  elector.on('leading', () => parentPort.postMessage('leading'));
  elector.start();`;

describe('lifecycle', () => {
  let fake, s3;
  before(async () => {
    fake = await FakeS3.start();
    const { bucket, ...rest } = fake.options;
    s3 = rest;
  });
  after(() => fake.stop());

  function input(key) {
    return { key, s3, quick: QUICK };
  }

  async function worker(key, text) {
    await fake.released(key);
    return new Worker(WORKER + text, { eval: true, workerData: input(key) });
  }

  /* Until the garbage collector finds nothing more of ours. */
  async function settle() {
    let quiet = 0;
    let last = blocks();
    await collectUntil(() => {
      quiet = blocks() === last ? quiet + 1 : 0;
      last = blocks();
      return quiet === 6;
    });
  }

  /* Handles come down to what they were, which may take a turn of the loop. */
  async function assertHandles(expected) {
    await collectUntil(() => handles().length <= expected.length);
    assert.deepEqual(handles(), expected);
  }

  /* What is allocated comes down to what it was, which takes the garbage collector. */
  async function assertNoMoreThan(allowed, what) {
    await collectUntil(() => blocks() <= allowed);
    assert.ok(blocks() <= allowed, `${what}: ${blocks() - allowed} blocks are left`);
  }

  async function cycle(store, lockfilePath, wait) {
    const e = new Elector({ store, lockfilePath, ...QUICK });
    if (wait !== undefined) {
      await e.start();
      if (wait !== '')
        await once(e, wait);
    }
    await e.close();
  }

  it('leaves nothing after 1,000 electors', async (t) => {
    const stores = [new S3Store(fake.options), new MemoryStore(), new FileStore(scratch(t))];
    await fake.released('cycles');
    const cycles = async (n) => {
      for (let i = 0; i < n; i++) {
        // One after the other leads; others are closed before they have begun, or at once.
        await cycle(stores[0], 'cycles', 'leading');
        await cycle(stores[1], 'x', i % 2 === 0 ? undefined : '');
        await cycle(stores[2], 'x', i % 2 === 0 ? '' : undefined);
        await cycle(stores[1], 'x', 'leader');
      }
    };
    await cycles(5);
    await settle();
    const before = { blocks: blocks(), handles: handles(), resources: process.getActiveResourcesInfo() };
    await cycles(250);
    await assertHandles(before.handles);
    assert.deepEqual(process.getActiveResourcesInfo(), before.resources);
    await assertNoMoreThan(before.blocks, 'electors');
    await Promise.all(stores.map((store) => store.close()));
  });

  it('leaves nothing of stores, and of what could not be made', async () => {
    const { endpoint } = s3;
    const make = async () => {
      await new S3Store({ bucket: 'bucket', endpoint, credentials: () => ({}) }).close();
      await new MemoryStore().close();
      await new PeerClient({ plainHttp: true }).close();
      await new PeerServer({ listen: '127.0.0.1:0', plainHttp: true }).close();
      assert.throws(() => new PeerServer({ listen: '127.0.0.1:0', key: 'x' }));
      assert.throws(() => new PeerClient({ caFile: '/no/such/file' }));
      assert.throws(() => new S3Store({ ...fake.options, accessKeyId: undefined, secretAccessKey: 'x' }));
      assert.throws(() => new S3Store({ endpoint: 'x://', bucket: 'bucket', credentials: () => ({}) }));
      assert.throws(() => new Elector({ store: 's3://bucket/x', s3, leaderTimeoutMs: 1 }));
      assert.throws(() => new FileStore('/no/such/directory'));
    };
    await make();
    await settle();
    const before = { blocks: blocks(), handles: handles() };
    for (let i = 0; i < 100; i++)
      await make();
    await assertNoMoreThan(before.blocks, 'stores');
    await assertHandles(before.handles);
  });

  it('is closed by the garbage collector where nobody has started it', async () => {
    const store = new MemoryStore();
    await settle();
    const before = { blocks: blocks(), handles: handles() };
    (() => {
      for (let i = 0; i < 10; i++) {
        new Elector({ store: 's3://bucket/garbage', s3 });
        new Elector({ store, lockfilePath: 'garbage' });
      }
    })();
    assert.ok(blocks() > before.blocks);
    await assertNoMoreThan(before.blocks, 'garbage');
    await assertHandles(before.handles);
    await store.close();
  });

  it('lives on where somebody has started it, although nobody refers to it', async () => {
    await fake.released('forgotten');
    const seen = [];
    await (() => {
      const e = new Elector({ store: 's3://bucket/forgotten', s3, ...QUICK });
      e.on('leading', () => seen.push('leading'));
      e.on('renewed', function () {
        seen.push('renewed');
        if (seen.length > 2)
          this.close();
      });
      e.on('close', () => seen.push('close'));
      return e.start();
    })();
    while (seen.at(-1) !== 'close') {
      gc();
      await new Promise((resolve) => setImmediate(resolve));
    }
    assert.deepEqual(seen.slice(0, 3), ['leading', 'renewed', 'renewed']);
    assert.equal(await fake.isReleased('forgotten'), true);
  });

  const asan = /libasan/.test(process.env.LD_PRELOAD ?? '');
  it('leaves nothing that LeakSanitizer finds', { skip: !asan && 'not built with it' }, async (t) => {
    const tls = await FakeS3.start('--tls-self', 'DIR');
    t.after(() => tls.stop());
    const keys = ['lsan-0', 'lsan-1', 'lsan-2', 'lsan-3'];
    await Promise.all(keys.map((key) => tls.released(key)));
    const { code, stdout, stderr } = await ends(program(`
      const { once } = require('node:events');
      const server = new s3lect.PeerServer({ listen: '127.0.0.1:0', plainHttp: true });
      const peerClient = new s3lect.PeerClient({ plainHttp: true });
      for (const [i, key] of input.keys.entries()) {
        const { accessKeyId, secretAccessKey, ...rest } = input.s3;
        const store = new s3lect.S3Store({ ...rest, credentials: () => ({ accessKeyId, secretAccessKey }) });
        const elector = new s3lect.Elector({ store, lockfilePath: key, peerClient, ...input.quick });
        server.add(elector);
        await elector.start();
        await once(elector, 'leading');
        await once(elector, 'renewed');
        await store.close();
        try { new s3lect.Elector({ store, lockfilePath: key }); } catch {}
        try { new s3lect.S3Store({ ...rest, endpoint: 'x://', credentials: () => ({}) }); } catch {}
      }
      await server.close();
      await peerClient.close();
      console.log('done');`,
    { keys, s3: { ...tls.options, caFile: path.join(tls.dir, 'ca.pem') }, quick: QUICK },
    // Node itself leaks here and there; of what is ours or has come through us the stack tells.
    { env: { ASAN_OPTIONS: 'detect_leaks=1:fast_unwind_on_malloc=0' } }));
    assert.equal(stdout, 'done\n');
    if (/LeakSanitizer has encountered a fatal error/.test(stderr))
      return t.skip('LeakSanitizer may not look into processes here');
    const leaks = stderr.split('\n\n').filter((text) => /^(Direct|Indirect) leak/.test(text));
    const root = path.resolve(PACKAGE, '..', '..'); // which the names of source files begin with
    assert.deepEqual(leaks.filter((text) => /s3lect|s3l_/.test(text) || text.includes(root)), []);
    assert.ok(code === 0 || leaks.length > 0, stderr);
  });

  const endings = {
    'closes in good order': ['elector.once("leading", () => elector.close());', null, 0],
    'is terminated': ['', (w) => w.terminate(), 1],
    'calls process.exit': ['elector.once("leading", () => process.exit(3));', null, 3],
    'has a listener that throws': ['elector.once("leading", () => { throw new Error("in a worker"); });',
      null, 1, 'in a worker'],
    'has a peer server, and is terminated': [`
      const server = new s3lect.PeerServer({ listen: '127.0.0.1:0', plainHttp: true }).add(elector);
      const client = new s3lect.PeerClient({ plainHttp: true });`, (w) => w.terminate(), 1],
    'has unref\'d it': ['elector.unref(); elector.once("leading", () => clearInterval(timer));' +
      'const timer = setInterval(() => {}, 1000);', null, 0],
  };
  for (const [name, [text, act, expected, ...messages]] of Object.entries(endings)) {
    it(`releases and leaves nothing when a worker ${name}`, async () => {
      const key = `worker-${name.replace(/\W/g, '-')}`;
      await settle();
      const before = blocks();
      const w = await worker(key, text);
      const exit = new Promise((resolve) => w.on('exit', resolve));
      const errors = []; // which may come before the message that was sent before them
      w.on('error', (e) => errors.push(e.message));
      await Promise.race([exit, new Promise((resolve) => w.on('message', resolve))]);
      await act?.(w);
      assert.equal(await exit, expected);
      assert.deepEqual(errors, messages);
      assert.equal(await fake.isReleased(key), true);
      await assertNoMoreThan(before, 'worker');
    });
  }

  it('lives in several workers at once, which are terminated at any time', async () => {
    await settle();
    const before = blocks();
    const workers = await Promise.all([0, 1, 2, 3].map((i) => worker(`many-${i}`, '')));
    const exits = workers.map((w) => new Promise((resolve) => w.on('exit', resolve)));
    await once(workers[0], 'message');
    await Promise.all(workers.map((w) => w.terminate()));
    await Promise.all(exits);
    await assertNoMoreThan(before, 'workers');
  });

  it('is loaded by workers only, and unloaded with them', async () => {
    await fake.released('only-worker');
    const { code, stdout, stderr } = await ends(program(`
      const { Worker } = require('node:worker_threads');
      let left = 3;
      const next = () => {
        if (left-- === 0)
          return console.log('done');
        const w = new Worker(input.worker, { eval: true, workerData: input });
        w.on('message', () => w.terminate());
        w.on('exit', next);
      };
      next();`, { worker: WORKER, ...input('only-worker') }, { load: false }));
    assert.deepEqual([code, stdout, stderr], [0, 'done\n', '']);
  });

  it('holds no process open that has unref\'d it, and releases at its end', async () => {
    await fake.released('unref');
    const { code, signal, stdout, stderr } = await ends(program(`
      const elector = new s3lect.Elector({ store: 's3://bucket/' + input.key, s3: input.s3, ...input.quick });
      for (const type of ['leading', 'stopped'])
        elector.on(type, ({ reason }) => console.log(type, reason ?? ''));
      const timer = setInterval(() => {}, 1000); // the process's own work
      elector.on('leading', () => clearInterval(timer));
      await elector.start();
      elector.unref();`, input('unref')));
    assert.deepEqual([code, signal, stdout, stderr], [0, null, 'leading \nstopped closed\n', '']);
    assert.equal(await fake.isReleased('unref'), true);
  });

  it('lets a process end at once that has nothing else to do', async () => {
    const { code, stdout } = await ends(program(`
      const elector = new s3lect.Elector({ store: 's3://bucket/' + input.key, s3: input.s3 });
      elector.on('error', () => {});
      elector.unref();
      await elector.start();
      console.log('started');`, input('nothing-else')));
    assert.deepEqual([code, stdout], [0, 'started\n']);
  });

  it('does not get in the way of process.exit', async () => {
    await fake.released('exit');
    const { code, stdout, stderr } = await ends(program(`
      const elector = new s3lect.Elector({ store: 's3://bucket/' + input.key, s3: input.s3, ...input.quick });
      elector.on('leading', () => process.exit(5));
      process.on('exit', () => console.log(elector.isLeader));
      await elector.start();`, input('exit')));
    assert.deepEqual([code, stdout, stderr], [5, 'true\n', '']);
    assert.equal(await fake.isReleased('exit'), false); // as the documentation says
  });

  it('keeps a process that has not unref\'d it', async () => {
    await fake.released('ref');
    const child = program(`
      const elector = new s3lect.Elector({ store: 's3://bucket/' + input.key, s3: input.s3, ...input.quick });
      let renewals = 0;
      elector.unref().ref();
      elector.on('renewed', () => ++renewals === 2 && elector.close());
      await elector.start();`, input('ref'));
    assert.equal((await ends(child)).code, 0);
    assert.equal(await fake.isReleased('ref'), true);
  });
});
