#!/usr/bin/env node
'use strict';

// A job runner like cron, in as many processes as there shall be: one of them runs the jobs.
//
//   node cron.js STORE SCHEDULE COMMAND [ARGUMENT]...
//
//   STORE      s3://BUCKET/KEY (keys, region and endpoint: AWS_*), or file:///DIRECTORY/NAME
//   SCHEDULE   five fields as in crontab(5): minute, hour, day of the month, month, day of the week,
//              each *, N, N-M, with /STEP, or a list of these; or "@every 30s" (ms, s, m, h)
//   COMMAND    is run at these times, with S3LECT_EPOCH and S3LECT_ID in its environment, unless the
//              last one still runs. It is ended when leadership ends (SIGTERM)
//
// Environment: CRON_ID, CRON_LEADER_TIMEOUT_MS.
//
// What a job writes should go with its epoch to where a smaller epoch is refused: a process can be
// suspended at any place, and wake up when another one leads. A time that comes while nobody leads is
// let go by, as cron does while a machine is off.

const { spawn } = require('node:child_process');
const path = require('node:path');

function usage(problem) {
  console.error(`${problem}\nusage: ${path.basename(__filename)} STORE SCHEDULE COMMAND [ARGUMENT]...`);
  process.exit(2);
}

// ---- Schedules ----

const UNITS = { ms: 1, s: 1000, m: 60000, h: 3600000 };

/* The numbers that a field such as "1-10/3,30" names. */
function field(text, min, max) {
  const numbers = new Set();
  for (const part of text.split(',')) {
    const [, range, step = '1'] = /^(\*|\d+(?:-\d+)?)(?:\/(\d+))?$/.exec(part) ?? usage(`"${text}"?`);
    const [from, to = part.includes('/') ? max : from] =
      range === '*' ? [min, max] : range.split('-').map(Number);
    if (from < min || to > max || from > to || Number(step) === 0)
      usage(`"${text}" is not within ${min} and ${max}`);
    for (let n = from; n <= to; n += Number(step))
      numbers.add(n);
  }
  return numbers;
}

/* A function that gives the next time (ms) after one. */
function parse(schedule) {
  const [, every, unit] = /^@every (\d+)(ms|s|m|h)$/.exec(schedule) ?? [];
  if (every > 0) {
    const ms = Number(every) * UNITS[unit];
    return (after) => Math.floor(after / ms + 1) * ms;
  }
  const fields = schedule.trim().split(/\s+/);
  if (fields.length !== 5)
    usage(`"${schedule}" is neither five fields nor "@every N(ms|s|m|h)"`);
  const limits = [[0, 59], [0, 23], [1, 31], [1, 12], [0, 7]];
  const [minutes, hours, days, months, weekdays] = fields.map((text, i) => field(text, ...limits[i]));
  if (weekdays.has(7))
    weekdays.add(0);
  // As cron has it: where both kinds of days are restricted, either will do.
  const anyDay = fields[2].startsWith('*') || fields[4].startsWith('*');
  const isDay = (t) => anyDay
    ? days.has(t.getDate()) && weekdays.has(t.getDay())
    : days.has(t.getDate()) || weekdays.has(t.getDay());
  return (after) => {
    const t = new Date(after);
    t.setSeconds(0, 0);
    do {
      t.setMinutes(t.getMinutes() + 1);
      while (!(isDay(t) && months.has(t.getMonth() + 1))) { // whole days at once
        t.setDate(t.getDate() + 1);
        t.setHours(0, 0, 0, 0);
        if (t - after > 10 * 366 * 86400000)
          usage(`"${schedule}" never comes`);
      }
    } while (!minutes.has(t.getMinutes()) || !hours.has(t.getHours()));
    return t.getTime();
  };
}

// ---- Jobs ----

/* Runs the command at its times, until `signal` is aborted. */
function runJobs({ next, command, args, id, epoch, signal }) {
  let running = false;

  function fire() {
    if (running)
      return;
    running = true;
    const child = spawn(command, args, {
      stdio: 'inherit',
      env: { ...process.env, S3LECT_EPOCH: String(epoch), S3LECT_ID: id },
      signal, // ends it with SIGTERM
    });
    child.on('error', (err) => {
      if (err.name !== 'AbortError')
        console.error(`${id}: ${command}: ${err.message}`);
    });
    child.on('close', () => {
      running = false;
    });
  }

  let timer;
  const arm = () => {
    const at = next(Date.now());
    const wait = () => {
      const left = at - Date.now();
      if (left > 0) {
        timer = setTimeout(wait, Math.min(left, 60000)); // the wall clock may be set meanwhile
        return;
      }
      fire();
      arm();
    };
    wait();
  };
  arm();
  signal.addEventListener('abort', () => clearTimeout(timer), { once: true });
}

async function main([store, schedule, command, ...args]) {
  const { Elector } = require('s3lect');
  if (command === undefined)
    usage('not enough arguments');
  const next = parse(schedule);
  const stop = new AbortController();
  const options = { store, signal: stop.signal };
  if (process.env.CRON_ID)
    options.serverId = process.env.CRON_ID;
  if (process.env.CRON_LEADER_TIMEOUT_MS) {
    options.leaderTimeoutMs = Number(process.env.CRON_LEADER_TIMEOUT_MS);
    options.frequentIntervalMs = options.infrequentIntervalMs = options.leaderTimeoutMs / 5;
  }
  const elector = new Elector(options);
  const id = options.serverId ?? `process ${process.pid}`;

  for (const name of ['SIGINT', 'SIGTERM'])
    process.once(name, () => stop.abort());
  elector.on('error', (err) => console.error(`${id}: ${err.code}: ${err.message}`));
  elector.on('leading', ({ epoch, signal }) => {
    console.log(`${id}: leading, epoch ${epoch}`);
    runJobs({ next, command, args, id, epoch, signal });
  });
  elector.on('stopped', ({ reason }) => console.log(`${id}: not leading any more: ${reason}`));
  await elector.start();
}

module.exports = { parse };

if (require.main === module)
  main(process.argv.slice(2)).catch((err) => {
    console.error(err.message);
    process.exitCode = 1;
  });
