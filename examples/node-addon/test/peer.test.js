'use strict';

// Peer mode: followers that ask the leader, and not the store.

const assert = require('node:assert/strict');
const { execFileSync } = require('node:child_process');
const http = require('node:http');
const path = require('node:path');
const { after, before, describe, it } = require('node:test');

const { Elector, PeerClient, PeerServer, S3Store } = require('..');
const { FakeS3, QUICK, ends, event, program, request, scratch } = require('./support');

describe('peer mode', { concurrency: true }, () => {
  let fake;
  before(async () => {
    fake = await FakeS3.start();
  });
  after(() => fake.stop());

  /* So slow to ask the store that only the leader's answer can be what made it quick. */
  const SLOW = { ...QUICK, infrequentIntervalMs: 3600000 };

  async function pair(t, key, serverOptions, clientOptions) {
    const store = new S3Store(fake.options);
    const server = new PeerServer({ listen: '127.0.0.1:0', metrics: true, ...serverOptions });
    const peerClient = new PeerClient(clientOptions);
    t.after(() => Promise.all([server.close(), store.close(), peerClient.close()]));
    const lockfilePath = await fake.released(key);
    const a = new Elector({ store, lockfilePath, serverId: 'a', serverAddr: `127.0.0.1:${server.port}`, ...SLOW });
    const b = new Elector({ store, lockfilePath, serverId: 'b', peerClient, ...SLOW });
    assert.equal(server.add(a), server);
    assert.throws(() => server.add(a), { code: 'S3LECT_EALREADY' });
    assert.throws(() => server.add(b), { code: 'S3LECT_EEXIST' });
    assert.throws(() => server.add(b, 'no-slash'), { code: 'S3LECT_EOPTION' });
    assert.throws(() => server.add({}), { code: 'S3LECT_EINVAL' });
    await a.start();
    await event(a, 'leading');
    const known = event(b, 'leader');
    await b.start();
    assert.equal((await known).leader, 'a');
    return { a, b, peerClient, server, store };
  }

  /* Until the follower's question is held by the leader. */
  async function isAsked(elector) {
    while (elector.stats().peerAnswers === 0)
      await new Promise((resolve) => setImmediate(resolve));
  }

  it('serves pages without peers, and metrics to a server of the program', async (t) => {
    const store = new S3Store(fake.options);
    const server = new PeerServer({ pagesListen: '127.0.0.1:0' });
    t.after(() => Promise.all([server.close(), store.close()]));
    const lockfilePath = await fake.released('pages');
    const a = new Elector({ store, lockfilePath, serverId: 'a', ...QUICK });
    const b = new Elector({ store, lockfilePath, serverId: 'b', ...QUICK });
    t.after(() => Promise.all([a.close(), b.close()]));
    server.add(a);
    const url = `http://127.0.0.1:${server.pagesPort}`;
    assert.equal((await request(`${url}/leader`)).status, 503);
    await a.start();
    await event(a, 'leading');
    assert.equal((await request(`${url}/leader`)).status, 200);
    assert.match((await request(`${url}/metrics`)).text, /s3lect_is_leader{.*id="a".*} 1\n/);
    assert.throws(() => server.port, { code: 'S3LECT_EINVAL' });
    const page = a.metrics(b);
    assert.match(page, /s3lect_is_leader{.*id="a".*} 1\n.*id="b".*} 0\n/);
    assert.throws(() => a.metrics({}), { code: 'S3LECT_EINVAL' });
    await b.close();
    assert.throws(() => a.metrics(b), { code: 'S3LECT_ECANCELED' });
  });

  it('hands over as soon as the leader says so', async (t) => {
    const { a, b, server } = await pair(t, 'plain', { plainHttp: true }, { plainHttp: true });
    await isAsked(b);
    const url = `http://127.0.0.1:${server.port}`;
    const { status, text } = await request(`${url}/health/leadership`);
    assert.equal(status, 200);
    assert.equal(JSON.parse(text).leaderID, 'a');
    assert.match((await request(`${url}/metrics`)).text, /s3lect/);
    const leads = event(b, 'leading');
    await a.resign();
    assert.equal((await leads).epoch, 9n);
    assert.equal((await request(`${url}/health/leadership`)).status, 404);
    assert.equal(server.remove(a), true);
    assert.equal(server.remove(a), false);
  });

  /* A certificate that signs itself, so that it is its own authority. */
  function certificate(t) {
    const dir = scratch(t);
    const [keyFile, certFile] = ['key.pem', 'cert.pem'].map((name) => path.join(dir, name));
    execFileSync('openssl', ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1',
      '-nodes', '-subj', '/CN=a', '-addext', 'subjectAltName=IP:127.0.0.1', '-keyout', keyFile,
      '-out', certFile], { stdio: 'ignore', env: { ...process.env, LD_PRELOAD: '' } });
    return { dir, keyFile, certFile };
  }

  it('does so over TLS', async (t) => {
    const { dir, keyFile, certFile } = certificate(t);
    const { a, b, peerClient, server } = await pair(t, 'tls', { certFile, keyFile }, { caFile: certFile });
    await isAsked(b);
    server.reload();
    peerClient.reload();
    assert.throws(() => peerClient.reload({ ca: 'no certificate' }), { code: 'S3LECT_ETLS', message: /^ca/ });
    assert.throws(() => peerClient.reload({ listen: 'x' }), { code: 'S3LECT_EOPTION', message: /unknown option "listen"/ });
    assert.throws(() => server.reload({ certFile: path.join(dir, 'none'), keyFile }), { code: 'S3LECT_ETLS', message: /no such file/ });
    const leads = event(b, 'leading');
    await a.close();
    assert.equal((await leads).epoch, 9n);
  });

  it('hands over by one write, that of the leader, between certificates that both sides know', async (t) => {
    const { keyFile, certFile } = certificate(t);
    const store = new S3Store(fake.options);
    const peerClient = new PeerClient({ caFile: certFile, certFile, keyFile });
    t.after(() => Promise.all([store.close(), peerClient.close()]));
    const timing = { ...SLOW, leaderTimeoutMs: 6000, renewIntervalMs: 300, peerIntervalMs: 2000 };
    // The question may be on its way yet when the leader resigns, which then releases as without peers: the
    // follower reads that. Who has just resigned stands aside, so that each turn has two others.
    for (let granted = false, turn = 0; !granted; turn++) {
      assert.ok(turn < 10, 'nothing was granted');
      const lockfilePath = await fake.released(`granted-${turn}`);
      const [leader, follower] = ['a', 'b'].map((serverId) => {
        const server = new PeerServer({ listen: '127.0.0.1:0', certFile, keyFile, clientCaFile: certFile });
        const serverAddr = `127.0.0.1:${server.port}`;
        const elector = new Elector({ store, lockfilePath, serverId, serverAddr, peerClient, ...timing });
        server.add(elector);
        t.after(() => server.close());
        return elector;
      });
      await leader.start();
      await event(leader, 'leading');
      await follower.start();
      while (follower.stats().peerAnswers === 0)
        await event(leader, 'renewed');
      await event(leader, 'renewed'); // the next question has come, and is held
      const { epoch } = leader;
      const before = follower.stats();
      const leads = new Promise((resolve) => follower.once('leading', (now) => resolve([now, follower.stats()])));
      await leader.resign();
      const [now, after] = await leads;
      assert.equal(now.epoch, epoch + 1n);
      granted = after.reads === before.reads; // its first renewal may be on its way already
      await Promise.all([leader.close(), follower.close()]);
    }
  });

  it('has a server that nobody has to refer to, and that holds no process open', async () => {
    const child = program(`
      const http = require('node:http');
      const gc = require('node:vm').runInNewContext('gc');
      const port = (() => new s3lect.PeerServer({ listen: '127.0.0.1:0', plainHttp: true }).port)();
      for (let round = 0; round < 10; round++) {
        gc();
        await new Promise((resolve) => setImmediate(resolve));
      }
      // By an agent that keeps the connection.
      const agent = new http.Agent({ keepAlive: true });
      http.get({ host: '127.0.0.1', port, agent, path: '/health/leadership' }, (res) => {
        res.resume().on('end', () => console.log(res.statusCode));
      });`, {}, { flags: ['--expose-gc'] });
    assert.deepEqual(await ends(child), { code: 0, signal: null, stdout: '404\n', stderr: '' });
  });

  it('can be answered by a server of one\'s own', async (t) => {
    let elector;
    const server = http.createServer((req, res) => {
      const { status, body } = elector.peerResponse(req.method);
      res.writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' }).end(body);
    });
    await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
    t.after(() => server.close());
    const store = new S3Store(fake.options);
    t.after(() => store.close());
    elector = new Elector({ store, lockfilePath: await fake.released('own'), serverId: 'a', ...QUICK });
    const url = `http://127.0.0.1:${server.address().port}/`;
    assert.equal((await request(url)).status, 404);
    await elector.start();
    await event(elector, 'leading');
    const { status, text } = await request(url);
    assert.equal(status, 200);
    assert.equal(JSON.parse(text).leaderID, 'a');
    assert.equal((await request(url, { method: 'PUT' })).status, 405);
    await elector.close();
    assert.equal((await request(url)).status, 404);
  });

  it('closes a client\'s electors with it, and refuses what cannot be', async () => {
    const store = new S3Store(fake.options);
    const peerClient = new PeerClient({ plainHttp: true });
    const e = new Elector({ store, lockfilePath: 'x', peerClient });
    assert.throws(() => peerClient.reload(), { code: 'S3LECT_EINVAL' }); // plain HTTP has nothing to read
    await peerClient.close();
    assert.equal(e.closed, true);
    assert.throws(() => peerClient.reload(), { code: 'S3LECT_ECANCELED', message: 'the peer client is closed' });
    assert.throws(() => new Elector({ store, lockfilePath: 'x', peerClient }), { code: 'S3LECT_ECANCELED' });
    assert.throws(() => new Elector({ store, lockfilePath: 'x', peerClient: {} }), { code: 'S3LECT_EOPTION' });
    await store.close();
    assert.throws(() => new PeerServer({ listen: '127.0.0.1:0' }), { code: 'S3LECT_EOPTION', message: /certFile/ });
    assert.throws(() => new PeerServer({ listen: 'nowhere', plainHttp: true }), { code: 'S3LECT_EOPTION', message: /listen/ });
    assert.throws(() => new PeerServer({ listn: '' }), { code: 'S3LECT_EOPTION' });
    assert.throws(() => new PeerClient({ caFile: '/no/such/file' }), { message: /caFile/ });
    const server = new PeerServer({ listen: '127.0.0.1:0', plainHttp: true });
    assert.ok(server.port > 0);
    await server.close();
    assert.throws(() => server.port, { code: 'S3LECT_ECANCELED' });
  });
});
