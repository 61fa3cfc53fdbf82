'use strict';

// Calls in any order, from anywhere: some thousands that a seeded generator chooses, in listeners too,
// some of which throw. Nothing may come of it but errors with codes, and nothing may be left behind.

const assert = require('node:assert/strict');
const fs = require('node:fs');
const path = require('node:path');
const { describe, it } = require('node:test');

const { PACKAGE, ends, program, released, scratch } = require('./support');

const STEPS = 4000; // at least, and until all of these have been seen:
const TYPES = ['leading', 'stopped', 'leader', 'error', 'close'];

/* Runs in a process of its own, whose uncaught exceptions are its listeners'. */
async function abuse({ Elector, FileStore, MemoryStore, PeerClient, PeerServer, S3Store }, input) {
  const { QUICK, collectUntil, handles } = require(`${input.PACKAGE}/test/support`);
  const { blocks } = require(`${input.PACKAGE}/lib/binding`);
  const problems = [];
  const thrown = new Set();
  const seen = new Set();

  let state = input.seed;
  const below = (n) => { // xorshift32
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % n;
  };
  const oneIn = (n) => below(n) === 0;
  const pick = (list) => list[below(list.length)];

  const expected = (err) => /^S3LECT_E/.test(err?.code) || err?.name === 'AbortError' || err?.message === 'on purpose';
  process.on('uncaughtException', (err) => {
    thrown.add(err?.message);
    if (!expected(err))
      problems.push(err);
  });
  process.on('unhandledRejection', (err) => problems.push(err));
  const attempt = async (act) => {
    try {
      await act();
    } catch (err) {
      if (!expected(err))
        problems.push(err);
    }
  };

  const made = [];
  const known = { stores: [], electors: [], clients: [], servers: [] };
  let signals = [new AbortController(), new AbortController()];
  const keep = (kind, object) => {
    made.push(new WeakRef(object));
    known[kind].push(object);
  };
  const credentials = () => pick([
    () => ({ accessKeyId: 'a', secretAccessKey: 'b', expiration: Date.now() + 10 }),
    () => { throw Object.create(null); },
    () => new Promise(() => {}),
    () => Promise.reject(new Error('none')),
    () => 5,
  ])();
  const openFiles = () => new FileStore(input.directory);
  const stores = [openFiles, openFiles, openFiles, () => new MemoryStore(),
    () => new S3Store({ bucket: 'bucket', endpoint: 'http://127.0.0.1:1', credentials })];

  function touch(elector) {
    return pick([
      () => elector.start(),
      () => elector.start(),
      () => oneIn(4) && elector.stop(),
      () => elector.resign(),
      () => elector.transfer(`server-${below(4)}`),
      () => oneIn(20) && elector.close(),
      () => elector.ack(elector.epoch),
      () => [elector.isLeader, elector.validForMs, elector.leader, elector.peerResponse('GET')],
      () => [elector.status(), elector.stats()],
      () => elector.ref(), () => elector.unref(),
      async () => {
        for await (const { type } of elector.events({ signal: oneIn(2) ? pick(signals).signal : undefined })) {
          if (type === 'stopped')
            break;
          if (oneIn(4))
            throw new Error('on purpose');
        }
      },
    ])();
  }

  function makeElector() {
    const elector = new Elector({
      ...QUICK,
      frequentIntervalMs: 20,
      infrequentIntervalMs: 20,
      store: pick(known.stores),
      lockfilePath: `key-${below(4)}`,
      serverId: `server-${below(4)}`,
      protocol: pick(['lockfile', 'epochs']),
      observer: oneIn(6),
      verifyOnStart: oneIn(6),
      stopAckMs: oneIn(3) ? 20 : 0,
      signal: oneIn(3) ? pick(signals).signal : undefined,
      peerClient: known.clients.length > 0 && oneIn(3) ? pick(known.clients) : undefined,
    });
    for (const type of [...input.types, 'renewed']) {
      elector.on(type, () => {
        seen.add(type);
        if (type === 'close')
          known.electors = known.electors.filter((other) => other !== elector);
        if (oneIn(2))
          attempt(async () => touch(elector));
        if (oneIn(8))
          throw new Error('on purpose');
      });
    }
    keep('electors', elector);
  }

  const steps = [
    () => known.stores.length < 6 && keep('stores', pick(stores)()),
    () => known.electors.length < 30 && known.stores.length > 0 && makeElector(),
    () => known.electors.length < 30 && known.stores.length > 0 && makeElector(),
    ...Array(6).fill(() => known.electors.length > 0 && touch(pick(known.electors))),
    () => known.clients.length < 3 && keep('clients', new PeerClient({ plainHttp: true })),
    () => known.servers.length < 3 && keep('servers', new PeerServer({ listen: '127.0.0.1:0', plainHttp: true })),
    () => known.servers.length > 0 && pick(known.servers).add(pick(known.electors), `/${below(4)}`),
    () => known.servers.length > 0 && pick(known.servers).remove(pick(known.electors)),
    () => { // close one, or forget it
      const list = known[pick(['stores', 'electors', 'electors', 'electors', 'clients', 'servers'])];
      const [object] = list.splice(below(list.length), 1);
      if (oneIn(2))
        return object?.close();
    },
    () => {
      if (oneIn(20))
        signals.splice(below(2), 1, new AbortController())[0].abort();
    },
  ];

  // V8 sets timers of its own; one of ours would be in a block.
  const others = () => handles().filter((type) => type !== 'timer');
  const before = others();
  const isDone = (i) => i >= input.steps && (input.types.every((type) => seen.has(type)) || i >= 100 * input.steps);
  for (let i = 0; !isDone(i); i++) {
    const act = pick(steps);
    attempt(async () => act());
    if (oneIn(2))
      await new Promise((resolve) => setImmediate(resolve));
    if (oneIn(500))
      await collectUntil(() => oneIn(2));
  }
  await Promise.all(made.map((ref) => ref.deref()?.close()));
  for (const list of Object.values(known))
    list.length = 0;
  signals = [];
  await collectUntil(() => blocks() <= input.blocks && others().length <= before.length);
  console.log(JSON.stringify({
    before,
    blocks: blocks(),
    handles: others(),
    problems: problems.map((err) => err?.stack ?? String(err)),
    seen: [...seen],
    thrown: [...thrown],
  }));
}

describe('abuse', () => {
  for (const seed of [1, 22, 333]) {
    it(`leaves nothing behind, and does nothing unheard of (seed ${seed})`, async (t) => {
      const directory = scratch(t);
      for (let i = 0; i < 4; i++) // released, so that whoever comes leads at once
        fs.writeFileSync(path.join(directory, `key-${i}`), JSON.stringify(released(7)));
      const input = { PACKAGE, seed, steps: STEPS, types: TYPES, directory, blocks: 1 }; // the environment's own
      const { code, stdout, stderr } = await ends(program(`await (${abuse})(s3lect, input);`, input));
      assert.equal(code, 0, stderr);
      const { before, blocks, handles: after, problems, seen, thrown } = JSON.parse(stdout);
      assert.deepEqual(problems, []);
      assert.deepEqual(after, before);
      assert.equal(blocks, input.blocks);
      assert.deepEqual(thrown, ['on purpose']);
      for (const type of TYPES)
        assert.ok(seen.includes(type), `there has been no "${type}"`);
    });
  }
});
