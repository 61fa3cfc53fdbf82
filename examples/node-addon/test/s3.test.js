'use strict';

// The S3 store: credentials from a function, TLS by Node's own OpenSSL, and an HTTP parser that is not
// Node's own beside Node's own.

const assert = require('node:assert/strict');
const path = require('node:path');
const { after, before, describe, it } = require('node:test');

const { Elector, S3Store } = require('..');
const { FakeS3, KEYS, QUICK, event, request } = require('./support');

describe('credentials function', { concurrency: true }, () => {
  let fake;
  before(async () => {
    fake = await FakeS3.start('--key', 'second:secretsecret:token');
  });
  after(() => fake.stop());

  async function make(t, key, credentials, options = {}) {
    await fake.released(key);
    const { accessKeyId, secretAccessKey, ...rest } = fake.options;
    const store = new S3Store({ ...rest, credentials });
    t.after(() => store.close());
    const e = new Elector({ store, lockfilePath: key, ...QUICK, ...options });
    e.on('error', () => {}); // so that there are no warnings
    return e;
  }

  it('gives keys, at once or later, until they expire', async (t) => {
    let asked = 0;
    const e = await make(t, 'good', async () => {
      asked++;
      await new Promise((resolve) => setImmediate(resolve));
      return asked === 1
        ? { ...KEYS, expiration: new Date(Date.now() + 2000) } // so soon that it is asked again
        : { accessKeyId: 'second', secretAccessKey: 'secretsecret', sessionToken: 'token' };
    });
    await e.start();
    await event(e, 'leading');
    while (asked < 2)
      await event(e, 'renewed');
    await event(e, 'renewed');
    const { text } = await request(`${fake.endpoint}/_fakes3/log`);
    const keys = new Set(JSON.parse(text).entries.filter(({ key }) => key === 'good').map((entry) => entry.access_key));
    assert.deepEqual(keys, new Set(['test', 'second']));
  });

  it('may be the keys themselves', async (t) => {
    const e = await make(t, 'object', KEYS);
    await e.start();
    await event(e, 'leading');
  });

  it('may answer without a promise', async (t) => {
    const e = await make(t, 'plain', () => KEYS);
    await e.start();
    await event(e, 'leading');
  });

  const failures = {
    throws: [() => { throw new Error('no vault'); }, /the credentials function: no vault/],
    rejects: [() => Promise.reject(new Error('vault\0is sealed')), /the credentials function: vault is sealed/],
    'throws no error': [() => { throw 'a text'; }, /the credentials function: a text/],
    'throws what cannot be shown': [() => { throw Object.create(null); }, /the credentials function: it has thrown what/],
    'gives nothing': [() => undefined, /it gave no object/],
    'gives half a pair': [() => ({ accessKeyId: 'x' }), /it gave no secretAccessKey/],
    'gives what is none': [() => ({ accessKeyId: 'a b', secretAccessKey: 'c' }), /a key holds a blank/],
    'gives a strange date': [() => ({ ...KEYS, expiration: 'soon' }), /its expiration is no date/],
    'gives no time at all': [() => ({ ...KEYS, expiration: 0 }), /its expiration is no date/],
    'gives what is over': [() => ({ ...KEYS, expiration: Date.now() / 1000 }), /have expired already/], // not ms
  };
  for (const [name, [credentials, message]] of Object.entries(failures)) {
    it(`that ${name} is an error of the elector, and asked again`, async (t) => {
      let fails = true;
      const e = await make(t, name.replaceAll(' ', '-'), () => fails ? credentials() : KEYS);
      const failed = event(e, 'error');
      await e.start();
      const err = await failed;
      assert.equal(err.code, 'S3LECT_ECREDENTIALS');
      assert.match(err.message, message);
      fails = false;
      await event(e, 'leading');
    });
  }

  it('that never answers holds nobody up', async (t) => {
    let asked;
    const isAsked = new Promise((resolve) => {
      asked = resolve;
    });
    let answer;
    const e = await make(t, 'never', () => {
      asked();
      return new Promise((resolve) => {
        answer = resolve;
      });
    }, { requestTimeoutMs: 100 });
    const failed = event(e, 'error');
    await e.start();
    await isAsked;
    assert.equal((await failed).code, 'S3LECT_ETIMEDOUT');
    await e.close();
    answer(KEYS); // whom nobody asks any more
    await new Promise((resolve) => setImmediate(resolve));
  });

  it('that never answers does not keep the store from closing', async (t) => {
    let asked;
    const isAsked = new Promise((resolve) => {
      asked = resolve;
    });
    const e = await make(t, 'close', () => {
      asked();
      return new Promise(() => {});
    });
    await e.start();
    await isAsked;
    await e.close();
  });
});

describe('TLS', () => {
  it('is that of Node, with the authorities that are named', async (t) => {
    const fake = await FakeS3.start('--tls-self', 'DIR');
    t.after(() => fake.stop());
    assert.match(fake.endpoint, /^https:/);
    const store = new S3Store({ ...fake.options, caFile: path.join(fake.dir, 'ca.pem') });
    const e = new Elector({ store, lockfilePath: await fake.released('tls'), ...QUICK });
    await e.start();
    await event(e, 'leading');
    await store.close();

    const other = new S3Store(fake.options); // the system's authorities have not signed it
    const refused = new Elector({ store: other, lockfilePath: 'tls', ...QUICK });
    const failed = event(refused, 'error');
    await refused.start();
    assert.equal((await failed).code, 'S3LECT_ETLSCA');
    await other.close();
  });
});

describe('HTTP', () => {
  it('is parsed by either llhttp in one process', async (t) => {
    const fake = await FakeS3.start();
    t.after(() => fake.stop());
    const store = new S3Store(fake.options);
    const e = new Elector({ store, lockfilePath: await fake.released('both'), ...QUICK });
    await e.start();
    await event(e, 'leading');
    await fake.fault({ match: { method: 'PUT' }, chunked: true });
    const renewed = e.stats().renewals;
    while (e.stats().renewals < renewed + 2) {
      assert.equal((await request(`${fake.endpoint}/_fakes3/state`)).status, 200);
      await event(e, 'renewed');
    }
    assert.equal(e.isLeader, true);
    await store.close();
  });
});
