'use strict';

// What is in the package: symbols, types, files.

const assert = require('node:assert/strict');
const { execFileSync, spawnSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { describe, it } = require('node:test');

const s3lect = require('..');
const { AZURE, ELECTOR, GCS, PEER_CLIENT, PEER_SERVER, S3 } = require('../lib/options');
const { Shared } = require('../lib/shared');
const { optionTypes } = require('../option-types');
const { PACKAGE } = require('./support');

const addon = process.env.S3LECT_NODE_ADDON ?? path.join(PACKAGE, 'build', 'Release', 's3lect.node');
const clean = { ...process.env, LD_PRELOAD: '' };

function has(program) {
  return spawnSync(program, ['--version'], { env: clean }).status === 0;
}

describe('package', () => {
  it('has no libuv and no OpenSSL of its own, and hides its llhttp', { skip: !has('nm') && 'no nm here' }, () => {
    const nm = (...args) => execFileSync('nm', [...args, addon], { env: clean, encoding: 'utf8' })
      .split('\n').map((line) => line.trim().split(/\s+/)).filter((fields) => fields.length > 1);
    // FIELDS of nm: [ADDRESS] KIND NAME
    const all = nm().map((fields) => fields.slice(-2));
    const theirs = /^(uv|SSL|EVP|CRYPTO|BIO|X509|OPENSSL|napi)_/;
    const defined = all.filter(([kind]) => kind !== 'U' && kind !== 'w').map(([, name]) => name);
    assert.deepEqual(defined.filter((name) => theirs.test(name) && name !== 'napi_register_module_v1'), []);
    const wanted = all.filter(([kind]) => kind === 'U').map(([, name]) => name);
    for (const name of ['uv_timer_start', 'SSL_do_handshake', 'napi_wrap'])
      assert.ok(wanted.includes(name), `${name} is not Node's`);
    assert.ok(defined.includes('llhttp_execute'));
    assert.deepEqual(wanted.filter((name) => name.startsWith('llhttp_')), []);
    const exported = nm('-D', '--defined-only').map((fields) => fields.at(-1));
    assert.deepEqual(exported, ['napi_register_module_v1']);
  });

  it('links nothing but libc', { skip: !has('readelf') && 'no readelf here' }, () => {
    const text = execFileSync('readelf', ['-d', addon], { env: clean, encoding: 'utf8' });
    const libraries = [...text.matchAll(/\(NEEDED\).*\[(.*)\]/g)].map(([, name]) => name);
    assert.deepEqual(libraries.filter((name) => !/^(libc|libasan|libubsan|ld-linux.*|libpthread)\.so/.test(name)), []);
  });

  it('runs with one libuv and one OpenSSL', { skip: process.platform !== 'linux' && 'no /proc here' }, () => {
    const maps = fs.readFileSync('/proc/self/maps', 'utf8');
    assert.ok(maps.includes(addon));
    for (const library of ['uv', 'ssl', 'crypto']) {
      const files = new Set(maps.match(new RegExp(`/lib${library}[-.]\\S*so\\S*`, 'g')));
      const isShared = process.config.variables[library === 'uv' ? 'node_shared_libuv' : 'node_shared_openssl'];
      assert.equal(files.size, isShared ? 1 : 0, [...files].join(' '));
    }
  });

  const types = fs.readFileSync(path.join(PACKAGE, 'index.d.ts'), 'utf8');

  /* The text of a declaration, from its head to the brace that closes it. */
  function declared(head) {
    const from = types.indexOf(`${head} `);
    assert.ok(from >= 0, `${head} is not in index.d.ts`);
    return types.slice(from, types.indexOf('\n}', from));
  }

  it('declares the types of all that there is', () => {
    for (const [name, value] of Object.entries(s3lect))
      assert.match(types, new RegExp(`export (const|class|function) ${name}\\b`), name);
    const own = (prototype, text) => {
      for (const name of Object.getOwnPropertyNames(prototype).filter((n) => n !== 'constructor'))
        assert.match(text, new RegExp(`\\b${name}\\b`), `${name} has no type`);
    };
    own(s3lect.Elector.prototype, declared('export class Elector'));
    own(s3lect.PeerClient.prototype, declared('export class PeerClient'));
    own(s3lect.PeerServer.prototype, declared('export class PeerServer'));
    own(s3lect.MemoryStore.prototype, declared('export class MemoryStore'));
    own(Shared.prototype, declared('declare abstract class Shared'));
    for (const [options, head] of [[S3, 'export interface S3Options'],
      [AZURE, 'export interface AzureOptions'],
      [GCS, 'export interface GcsOptions'],
      [ELECTOR, 'export interface ElectorOptions'],
      [PEER_CLIENT, 'export interface PeerClientOptions'],
      [PEER_SERVER, 'export interface PeerServerOptions']]) {
      const text = declared(head) + (options === ELECTOR ? optionTypes() : '');
      const names = new Set([...text.matchAll(/^ {2}(\w+)\??:/gm)].map(([, name]) => name));
      assert.deepEqual([...names].sort(), [...options].sort());
    }
    const store = new s3lect.MemoryStore();
    const elector = new s3lect.Elector({ store, lockfilePath: 'x' });
    for (const [object, head] of [[elector.status(), 'export interface Status'],
      [elector.stats(), 'export interface Stats'],
      [s3lect.plan({ store: 's3://bucket/key' }), 'export interface Plan']]) {
      const names = [...declared(head).matchAll(/^ {2}(\w+)\??:/gm)].map(([, name]) => name);
      assert.deepEqual(Object.keys(object).sort(), names.sort());
    }
    return store.close();
  });

  it('has a page without links that the registry could not follow', () => {
    const page = fs.readFileSync(path.join(PACKAGE, 'README.md'), 'utf8');
    const headings = [...page.matchAll(/^#+ (.*)$/gm)].map(([, text]) => text.toLowerCase().replaceAll(' ', '-'));
    for (const [, to] of page.matchAll(/\]\(([^)]*)\)/g))
      assert.ok(to.startsWith('https://') || headings.includes(to.slice(1)), to);
  });

  const include = path.join(PACKAGE, '..', '..', 'include', 's3lect');
  it('has all options of the library', { skip: !fs.existsSync(include) && 'not in the repository' }, () => {
    const read = (file) => fs.readFileSync(file, 'utf8');
    const native = ['elector', 'store', 'peer', 'plan'].map((name) => read(path.join(PACKAGE, 'native', `${name}.c`))).join('');
    const ours = /^(size|on_\w+|store|peer_client|credentials|headers|headers_len)$/; // by other ways
    for (const [header, struct] of [['elector.h', 's3lect_elector_options_s'], ['store.h', 's3lect_store_s3_options_s'], ['store_azure.h', 's3lect_store_azure_options_s'],
      ['store_gcs.h', 's3lect_store_gcs_options_s'],
      ['peer.h', 's3lect_peer_client_options_s'], ['peer.h', 's3lect_peer_server_options_s'], ['plan.h', 's3lect_plan_options_s']]) {
      const text = read(path.join(include, header)).replace(/\/\*[^]*?\*\//g, '');
      const from = text.indexOf(`struct ${struct} {`);
      const body = text.slice(from, text.indexOf('}', from));
      const members = [...body.matchAll(/(\w+);/g)].map(([, name]) => name);
      assert.ok(members.includes('size'));
      for (const name of members.filter((member) => !ours.test(member)))
        assert.match(native, new RegExp(`, ${name}\\)`), `${struct} has the option ${name}, the package has not`);
    }
  });

  it('has the version of the library, and all its files', () => {
    const json = JSON.parse(fs.readFileSync(path.join(PACKAGE, 'package.json'), 'utf8'));
    assert.equal(json.version, s3lect.version);
    for (const file of json.files.filter((name) => !['options.d.ts', 'prebuilds', 'vendor'].includes(name)))
      assert.ok(fs.existsSync(path.join(PACKAGE, file)), file);
    assert.equal(json.types, 'index.d.ts');
  });

  it('can be imported, too', async () => {
    const module = await import('../index.js');
    assert.equal(module.Elector, s3lect.Elector);
    assert.equal(module.S3Store, s3lect.S3Store);
  });
});
