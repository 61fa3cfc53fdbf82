'use strict';

// What the tests share: a fake S3 in a process of its own, lockfiles that are there already, programs
// in processes of theirs. Nothing here waits for time to pass.

const { spawn } = require('node:child_process');
const crypto = require('node:crypto');
const { once } = require('node:events');
const fs = require('node:fs');
const http = require('node:http');
const https = require('node:https');
const os = require('node:os');
const path = require('node:path');
const v8 = require('node:v8');
const vm = require('node:vm');

const PACKAGE = path.join(__dirname, '..');
const KEYS = { accessKeyId: 'test', secretAccessKey: 'testtest' };

// Quick, and still as safe as any.
const QUICK = { leaderTimeoutMs: 2500, frequentIntervalMs: 400, infrequentIntervalMs: 400 };

function scratch(t) {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 's3lect-node-'));
  t.after(() => fs.rmSync(dir, { recursive: true, force: true }));
  return dir;
}

// ---- The fake S3 ----

function request(url, { method = 'GET', headers = {}, body } = {}) {
  return new Promise((resolve, reject) => {
    const { request: send } = url.startsWith('https:') ? https : http;
    const req = send(url, { method, headers, agent: false, rejectUnauthorized: false }, (res) => {
      let text = '';
      res.setEncoding('utf8').on('data', (chunk) => { text += chunk; });
      res.on('end', () => resolve({ status: res.statusCode, text }));
    });
    req.on('error', reject);
    req.end(body);
  });
}

const sha256 = (text) => crypto.createHash('sha256').update(text).digest('hex');
const hmac = (key, text) => crypto.createHmac('sha256', key).update(text).digest();

/* SigV4 for a PUT, so that a test can put a lockfile. */
async function put(endpoint, bucket, key, body) {
  const time = new Date().toISOString().replace(/[-:]|\.\d+/g, '');
  const day = time.slice(0, 8);
  const host = new URL(endpoint).host;
  const target = `/${bucket}/${key}`;
  const hash = sha256(body);
  const signed = 'host;x-amz-content-sha256;x-amz-date';
  const canonical = ['PUT', target, '', `host:${host}`, `x-amz-content-sha256:${hash}`,
    `x-amz-date:${time}`, '', signed, hash].join('\n');
  const scope = `${day}/us-east-1/s3/aws4_request`;
  const secret = [day, 'us-east-1', 's3', 'aws4_request'].reduce(hmac, 'AWS4' + KEYS.secretAccessKey);
  const signature = hmac(secret, ['AWS4-HMAC-SHA256', time, scope, sha256(canonical)].join('\n')).toString('hex');
  const { status, text } = await request(endpoint + target, {
    method: 'PUT',
    headers: {
      host,
      'x-amz-content-sha256': hash,
      'x-amz-date': time,
      'content-length': Buffer.byteLength(body),
      authorization: `AWS4-HMAC-SHA256 Credential=${KEYS.accessKeyId}/${scope}, ` +
        `SignedHeaders=${signed}, Signature=${signature}`,
    },
    body,
  });
  if (status !== 200)
    throw new Error(`PUT ${target}: ${status} ${text}`);
}

/* The record of a leader that has left. */
function released(epoch) {
  return {
    leaderID: 'before',
    leaderAddr: '',
    lastUpdated: '0001-01-01T00:00:00Z',
    epoch,
    incarnation: '0123456789abcdef0123456789abcdef',
    write: 1,
  };
}

class FakeS3 {
  static async start(...options) {
    const program = process.env.S3LECT_FAKES3;
    if (program === undefined)
      throw new Error('S3LECT_FAKES3 must name the program s3lect-fakes3');
    const dir = fs.mkdtempSync(path.join(os.tmpdir(), 's3lect-node-'));
    const ready = path.join(dir, 'url');
    const child = spawn(program, ['--ready-file', ready, '--die-with-parent', '--anonymous-reads',
      ...options.map((option) => option.replace('DIR', dir))], { stdio: 'inherit' });
    const watcher = fs.watch(dir);
    while (!fs.existsSync(ready) || !fs.readFileSync(ready, 'utf8').includes('\n'))
      await once(watcher, 'change');
    watcher.close();
    const fake = new FakeS3();
    fake.dir = dir;
    fake.child = child;
    fake.endpoint = fs.readFileSync(ready, 'utf8').trim();
    fake.options = { bucket: 'bucket', region: 'us-east-1', endpoint: fake.endpoint, ...KEYS };
    return fake;
  }

  async stop() {
    if (this.child.exitCode === null && this.child.signalCode === null) {
      this.child.kill();
      await once(this.child, 'exit');
    }
    fs.rmSync(this.dir, { recursive: true, force: true });
  }

  /** A lockfile that was released: who comes leads at once, with the epoch after this one. */
  async released(key, epoch = 7) {
    await put(this.endpoint, 'bucket', key, JSON.stringify(released(epoch)));
    return key;
  }

  async record(key) {
    const { status, text } = await request(`${this.endpoint}/bucket/${key}`);
    return status === 200 ? JSON.parse(text) : null;
  }

  async isReleased(key) {
    return (await this.record(key)).lastUpdated === '0001-01-01T00:00:00Z';
  }

  async fault(rule) {
    const { status, text } = await request(`${this.endpoint}/_fakes3/faults`,
      { method: 'POST', body: JSON.stringify(rule) });
    if (status !== 200)
      throw new Error(text);
  }
}

// ---- Events ----

/* events.once, but 'error' is an event like others. */
function event(emitter, type) {
  return new Promise((resolve) => emitter.once(type, resolve));
}

// ---- Programs ----

/* Runs a program's text with the package in `s3lect` (unless it loads that itself), and `input` in
 * `input`. */
function program(text, input = {}, { env = {}, flags = [], load = true } = {}) {
  const child = spawn(process.execPath, [...flags, '-e', `
    ${load ? `const s3lect = require(${JSON.stringify(PACKAGE)});` : ''}
    const input = ${JSON.stringify(input)};
    (async () => { ${text} })();`],
  { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, ...env } });
  child.text = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'])
    child[name].setEncoding('utf8').on('data', (chunk) => { child.text[name] += chunk; });
  return child;
}

async function ends(child) {
  const [code, signal] = await once(child, 'close');
  return { code, signal, ...child.text };
}

// ---- Garbage ----

v8.setFlagsFromString('--expose-gc');
const gc = vm.runInNewContext('gc');

/* Collects garbage, and lets finalizers run, until it holds, or for a bounded number of rounds. */
async function collectUntil(holds) {
  for (let round = 0; round < 100 && !holds(); round++) {
    gc();
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/* The libuv handles of this thread's loop, those of addons included. */
function handles() {
  const all = process.report.getReport().libuv.filter(({ type }) => type !== 'loop');
  return all.map(({ type }) => type).sort();
}

module.exports = {
  FakeS3, KEYS, PACKAGE, QUICK, collectUntil, ends, event, gc, handles, program, released, request, scratch,
};
