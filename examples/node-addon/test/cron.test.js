'use strict';

// The example: two processes, one of which runs the jobs.

const assert = require('node:assert/strict');
const { spawn } = require('node:child_process');
const { once } = require('node:events');
const fs = require('node:fs');
const path = require('node:path');
const { describe, it } = require('node:test');

const { parse } = require('../example/cron');
const { PACKAGE, scratch } = require('./support');

describe('cron', () => {
  it('reads schedules as cron does', () => {
    const next = (schedule, from) => {
      const t = new Date(parse(schedule)(new Date(from).getTime()));
      return new Date(t.getTime() - t.getTimezoneOffset() * 60000).toISOString().slice(0, 16);
    };
    assert.equal(next('* * * * *', '2024-02-29T23:59:30'), '2024-03-01T00:00');
    assert.equal(next('*/20 4-6,22 * * *', '2024-01-01T06:40:00'), '2024-01-01T22:00');
    assert.equal(next('5/30 * * * *', '2024-01-01T06:06:00'), '2024-01-01T06:35');
    assert.equal(next('0 0 29 2 *', '2024-03-01T00:00:00'), '2028-02-29T00:00');
    assert.equal(next('30 9 * * 1-5', '2024-01-05T09:30:00'), '2024-01-08T09:30'); // Friday, Monday
    assert.equal(next('0 12 13 * 5', '2024-01-01T00:00:00'), '2024-01-05T12:00'); // a Friday, or a 13th
    assert.equal(next('0 12 * * 7', '2024-01-01T00:00:00'), '2024-01-07T12:00');
    assert.equal(parse('@every 10s')(1700000001234), 1700000010000);
  });

  it('runs jobs in one of two processes, and in the other when that ends', async (t) => {
    const dir = scratch(t);
    const fired = path.join(dir, 'fired');
    fs.writeFileSync(fired, '');

    function runner(id) {
      const child = spawn(process.execPath, [path.join(PACKAGE, 'example', 'cron.js'), `file://${dir}/lock.json`,
        '@every 50ms', 'sh', '-c', 'echo "$S3LECT_EPOCH $S3LECT_ID" >>"$0"', fired], {
        stdio: ['ignore', 'pipe', 'inherit'],
        env: { ...process.env, CRON_ID: id, CRON_LEADER_TIMEOUT_MS: '2500' },
      });
      child.stdout.setEncoding('utf8');
      t.after(() => child.kill('SIGKILL'));
      return child;
    }

    const lines = () => fs.readFileSync(fired, 'utf8').split('\n').filter(Boolean);
    async function firedBy(id, n) {
      const watcher = fs.watch(fired);
      while (lines().filter((line) => line.endsWith(` ${id}`)).length < n)
        await once(watcher, 'change');
      watcher.close();
    }

    const a = runner('a');
    const [first] = await once(a.stdout, 'data');
    assert.match(first, /^a: leading, epoch \d+\n$/);
    const b = runner('b');
    await firedBy('a', 5);
    const closed = once(a, 'close');
    a.kill('SIGTERM');
    assert.deepEqual(await closed, [0, null]);
    await firedBy('b', 5);
    b.kill('SIGTERM');
    assert.deepEqual(await once(b, 'close'), [0, null]);

    // One holder of each epoch, and epochs that only grow.
    const holders = new Map();
    let last = 0n;
    for (const line of lines()) {
      const [epoch, id] = line.split(' ');
      assert.ok(BigInt(epoch) >= last);
      last = BigInt(epoch);
      assert.equal(holders.get(epoch) ?? id, id);
      holders.set(epoch, id);
    }
    assert.deepEqual([...holders.values()], ['a', 'b']);
  });
});
