'use strict';

// How events reach a program: iterators, promises, asynchronous contexts, listeners that misbehave. In
// memory: what is behind the events is tested elsewhere.

const assert = require('node:assert/strict');
const { AsyncLocalStorage } = require('node:async_hooks');
const { once } = require('node:events');
const { describe, it } = require('node:test');

const { Elector, MemoryStore } = require('..');
const { Events } = require('../lib/events');
const { QUICK, ends, event, program } = require('./support');

describe('events', { concurrency: true }, () => {
  function make(t, options = {}) {
    const store = new MemoryStore();
    t.after(() => store.close());
    return new Elector({ store, lockfilePath: 'x', ...QUICK, ...options });
  }

  it('are kept for an iterator up to a bound, and then the oldest are dropped', async () => {
    let over = 0;
    const events = new Events(() => over++);
    for (let n = 0; n < 1024 + 6; n++)
      events.push({ n });
    assert.deepEqual(await events.next(), { value: { n: 6, missed: 6 }, done: false });
    assert.deepEqual(await events.next(), { value: { n: 7 }, done: false });
    events.end(); // what is there can still be had
    events.push({ n: -1 });
    let last;
    for await (const { n } of events)
      last = n;
    assert.equal(last, 1029);
    assert.equal(over, 1);
  });

  it('end an iterator that is left by break, return or throw', async (t) => {
    const e = make(t);
    await e.start();
    const left = [];
    for (const leave of [() => 'break', () => { throw new Error('thrown'); }]) {
      const events = e.events();
      left.push(events);
      try {
        for await (const { type } of events) {
          assert.ok(['noLeader', 'claiming', 'leader', 'leading'].includes(type));
          if (leave() === 'break')
            break;
        }
      } catch (err) {
        assert.equal(err.message, 'thrown');
      }
    }
    const disposed = e.events();
    left.push(disposed);
    await disposed[Symbol.asyncDispose]();
    const refused = e.events();
    left.push(refused);
    await assert.rejects(refused.throw(new Error('from outside')), { message: 'from outside' });
    await e.close();
    for (const events of left)
      assert.deepEqual(await events.next(), { value: undefined, done: true });
  });

  it('do not wait for a loop that is slow, which misses nothing', async (t) => {
    const e = make(t);
    await e.start();
    const events = e.events();
    const seen = [];
    for await (const { type, epoch, signal } of events) {
      if (type === 'leader')
        continue;
      seen.push([type, signal?.aborted]);
      if (type === 'leading') {
        assert.equal(epoch, e.epoch);
        await e.close(); // 'stopped' comes while the body is busy
      }
    }
    assert.deepEqual(seen,
      [['noLeader', undefined], ['claiming', undefined], ['leading', false], ['stopped', undefined]]);
  });

  it('come in the context in which the elector was made, with promises as ever', async () => {
    const context = new AsyncLocalStorage();
    const e = context.run('maker', () => new Elector({ store: new MemoryStore(), lockfilePath: 'x', ...QUICK }));
    const seen = [];
    e.on('leading', async () => {
      seen.push(context.getStore());
      process.nextTick(() => seen.push('tick'));
      await null;
      seen.push(context.getStore());
    });
    await context.run('starter', () => e.start());
    await once(e, 'renewed');
    assert.deepEqual(seen, ['maker', 'tick', 'maker']); // all of it before the next event
    await e.close();
  });

  it('tell once that nobody leads, before the next leader', async (t) => {
    const store = new MemoryStore();
    t.after(() => store.close());
    const e = new Elector({ store, lockfilePath: 'x', serverId: 'a', ...QUICK });
    const watcher = new Elector({ store, lockfilePath: 'x', observer: true, ...QUICK });
    const seen = [];
    watcher.on('noLeader', ({ epoch }) => seen.push(epoch));
    watcher.on('leader', ({ leader, epoch }) => seen.push([leader, epoch]));
    await watcher.start();
    await event(watcher, 'noLeader');
    e.start();
    await event(watcher, 'leader');
    const { epoch } = e;
    await e.close();
    if (seen.length < 3)
      await event(watcher, 'noLeader');
    await watcher.close();
    assert.deepEqual(seen, [0n, ['a', epoch], epoch]);
  });

  it('may be answered by any call', async (t) => {
    const e = make(t);
    const seen = [];
    e.on('leading', () => {
      seen.push('leading', e.isLeader);
      e.resign(); // and, while that is under way,
      e.stop();
      assert.equal(e.isLeader, false);
    });
    e.on('stopped', ({ reason }) => {
      seen.push(reason, e.isLeader);
      e.close();
      e.close();
    });
    e.on('close', () => {
      seen.push('close', e.closed);
      e.close();
      e.ack(1n);
    });
    await e.start();
    await event(e, 'close');
    assert.deepEqual([seen[0], seen[1], seen[3], ...seen.slice(4)], ['leading', true, false, 'close', true]);
    assert.match(seen[2], /^(resigned|stopped|closed)$/);
    await assert.rejects(e.stop(), { code: 'S3LECT_EALREADY' });
    await assert.rejects(e.resign(), { code: 'S3LECT_EINVAL' });
    await assert.rejects(e.transfer('y'), { code: 'S3LECT_EINVAL' });
    assert.equal(e.isLeader, false);
    assert.equal(e.validForMs, 0);
  });

  it('all come, whatever their listeners throw', async () => {
    const { code, stdout, stderr } = await ends(program(`
      process.on('uncaughtException', (err) => console.log('caught', err.message));
      process.on('unhandledRejection', (err) => console.log('unhandled', err.message));
      const e = new s3lect.Elector({ store: new s3lect.MemoryStore(), lockfilePath: 'x', ...input });
      e.on('leading', ({ signal }) => {
        signal.addEventListener('abort', () => { throw new Error('abort'); });
        setImmediate(() => e.close());
        throw new Error('leading');
      });
      e.on('stopped', () => { throw new Error('stopped'); });
      e.on('stopped', () => console.log('not reached, as with any emitter'));
      e.on('close', async () => { throw new Error('close'); });
      const types = [];
      const all = (async () => {
        for await (const { type } of e.events())
          types.push(type);
      })();
      await e.start();
      await all;
      console.log(types.filter((type) => type !== 'leader').join());`, QUICK));
    assert.deepEqual([code, stderr], [0, '']);
    assert.deepEqual(stdout.trim().split('\n').sort(),
      ['caught abort', 'caught leading', 'caught stopped', 'noLeader,claiming,leading,stopped', 'unhandled close']);
  });
});
