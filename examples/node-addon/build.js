'use strict';

// Builds build/Release/s3lect.node, with a C compiler and nothing else: "npm install" runs this.
//
// Libuv and OpenSSL are Node's own: the addon is compiled against their headers, which come with
// Node's, and finds their symbols in the running process. It links neither.
//
//   node build.js             build it
//   node build.js --headers   print the folder of Node's headers, or say why there is none (exit 1)
//
// Environment: CC (with options, if need be), CFLAGS; npm_config_nodedir, a folder with include/node (also
// --nodedir of npm); JSMN_DIR, LLHTTP_SRC, LLHTTP_INCLUDE where these two are in unusual places and not
// in the package.

const { spawn, spawnSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');

const vendor = path.join(__dirname, 'vendor');
const out = path.join(__dirname, 'build', 'Release');

function fail(message) {
  console.error(`s3lect: ${message}`);
  process.exit(1);
}

// ---- Headers ----

/* Headers of another major version of Node would be of another libuv and OpenSSL. */
function headersAreNodes(dir) {
  const text = fs.readFileSync(path.join(dir, 'node_version.h'), 'utf8');
  return /define NODE_MAJOR_VERSION (\d+)/.exec(text)?.[1] === process.versions.node.split('.')[0];
}

function nodeHeaders() {
  const given = process.env.npm_config_nodedir;
  const prefix = path.resolve(path.dirname(fs.realpathSync(process.execPath)), '..');
  const cache = process.env.npm_config_devdir ??
    path.join(process.env.XDG_CACHE_HOME ?? path.join(os.homedir(), '.cache'), 'node-gyp');
  const candidates = [...new Set([
    ...(given ? [path.join(given, 'include', 'node')] : []),
    path.join(prefix, 'include', 'node'),
    '/usr/include/node',
    '/usr/local/include/node',
    path.join(cache, process.versions.node, 'include', 'node'),
  ])];
  const found = candidates.find((dir) =>
    fs.existsSync(path.join(dir, 'node_api.h')) && headersAreNodes(dir));
  if (found === undefined) {
    fail(`the headers of Node ${process.versions.node} are not there (looked for node_api.h in ` +
      `${candidates.join(', ')}): install libnode-dev of the same version (Debian), or run ` +
      '"npx node-gyp install", or name their folder with npm_config_nodedir');
  }
  // Where Node is linked with the system's libuv and OpenSSL, their headers are the system's, too.
  const variables = process.config.variables;
  const own = [['uv.h', 'libuv1-dev', variables.node_shared_libuv],
    ['openssl/ssl.h', 'libssl-dev', variables.node_shared_openssl]];
  for (const [file, debian, isShared] of own) {
    const dirs = [found, ...(isShared ? ['/usr/include', '/usr/local/include'] : [])];
    if (!dirs.some((dir) => fs.existsSync(path.join(dir, file))))
      fail(`${file} is not in ${dirs.join(', ')}${isShared ? `: install ${debian} (Debian)` : ''}`);
  }
  return found;
}

// ---- Sources ----

/* The C files of a folder, and of the folders in it. */
function sourcesIn(dir) {
  return fs.readdirSync(dir, { withFileTypes: true }).flatMap((entry) => {
    const file = path.join(dir, entry.name);
    return entry.isDirectory() ? sourcesIn(file) : file.endsWith('.c') ? [file] : [];
  });
}

function first(what, candidates, file) {
  const found = candidates.find((dir) => dir && fs.existsSync(path.join(dir, file)));
  if (found === undefined)
    fail(`${what} is not there: no ${file} in ${candidates.filter(Boolean).join(', ')}`);
  return found;
}

/* Where jsmn and llhttp are in a system. */
function thirdParty() {
  const { JSMN_DIR, LLHTTP_SRC, LLHTTP_INCLUDE } = process.env;
  return {
    jsmn: first('jsmn (Debian: libjsmn-dev)', [JSMN_DIR, '/usr/include', '/usr/local/include'], 'jsmn.h'),
    llhttp: first('llhttp (Debian: node-llhttp)',
      [LLHTTP_SRC, '/usr/share/llhttp', '/usr/share/nodejs/llhttp/src'], 'llhttp.c'),
    llhttpInclude: first('llhttp (Debian: node-llhttp)',
      [LLHTTP_INCLUDE, LLHTTP_SRC, '/usr/share/include/llhttp', '/usr/include'], 'llhttp.h'),
  };
}

/* In the package they are in vendor/ (see pack.js); in the repository two folders up, and jsmn and
 * llhttp where Debian has them. */
function sources() {
  const packed = fs.existsSync(vendor);
  const root = packed ? vendor : path.resolve(__dirname, '..', '..');
  const src = path.join(root, 'src');
  const layers = fs.readdirSync(src, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && entry.name !== 'cli').map((entry) => entry.name);
  const { jsmn, llhttp, llhttpInclude } = packed
    ? { jsmn: path.join(vendor, 'jsmn'), llhttp: path.join(vendor, 'llhttp'), llhttpInclude: path.join(vendor, 'llhttp') }
    : thirdParty();
  return {
    files: [
      ...sourcesIn(path.join(__dirname, 'native')),
      ...layers.flatMap((layer) => sourcesIn(path.join(src, layer))),
      ...['llhttp.c', 'api.c', 'http.c'].map((name) => path.join(llhttp, name)),
    ],
    include: [path.join(root, 'include'), src],
    system: [jsmn, llhttpInclude],
  };
}

// ---- Compiler ----

function run(command, args) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { stdio: ['ignore', 'inherit', 'inherit'] });
    child.on('error', (err) => reject(new Error(err.code === 'ENOENT'
      ? `there is no C compiler "${command}": install one (Debian: apt-get install gcc libc6-dev), or name it with CC`
      : `${command}: ${err.message}`)));
    child.on('exit', (code, signal) =>
      code === 0 ? resolve() : reject(new Error(`${command} has failed (${signal ?? code}), see above`)));
  });
}

/* Not every program called Node has what Node has: others bring another TLS, or none. */
function checkLoads(file) {
  const { status, stderr } = spawnSync(process.execPath, ['-e', 'require(process.argv[1])', file], { encoding: 'utf8' });
  if (status !== 0)
    throw new Error(`it was built, and this Node cannot load it: ${/Error: .*/.exec(stderr)?.[0] ?? stderr}`);
}

function words(text) {
  return text.split(/\s+/).filter(Boolean);
}

async function build() {
  const headers = nodeHeaders();
  const { files, include, system } = sources();
  const [cc, ...ccFlags] = words(process.env.CC || 'cc');
  const flags = [...ccFlags, '-std=gnu11', '-O2', '-fPIC', '-fvisibility=hidden', '-ffunction-sections',
    '-fdata-sections', '-fstack-protector-strong', '-D_GNU_SOURCE', '-DS3LECT_BUILDING',
    '-DLLHTTP_STRICT_MODE=1', ...include.map((dir) => `-I${dir}`),
    ...[headers, ...system].flatMap((dir) => ['-isystem', dir]),
    ...words(process.env.CFLAGS ?? '')];
  const objects = path.join(out, 'objects');
  fs.rmSync(objects, { recursive: true, force: true });
  fs.mkdirSync(objects, { recursive: true });

  const jobs = files.map((file, i) => [file, path.join(objects, `${i}-${path.basename(file)}.o`)]);
  const queue = [...jobs];
  const compile = async () => {
    for (let job = queue.shift(); job !== undefined; job = queue.shift())
      await run(cc, [...flags, '-c', job[0], '-o', job[1]]);
  };
  await Promise.all(Array.from({ length: os.availableParallelism?.() ?? os.cpus().length }, compile));

  const target = path.join(out, 's3lect.node');
  const link = process.platform === 'darwin'
    ? ['-bundle', '-undefined', 'dynamic_lookup', '-Wl,-exported_symbol,_napi_register_module_v1']
    : ['-shared', '-Wl,--gc-sections', '-Wl,-z,relro', '-Wl,-z,now', '-Wl,-z,noexecstack',
      `-Wl,--version-script=${path.join(__dirname, 'native', 'exports.map')}`];
  await run(cc, [...ccFlags, ...link, ...jobs.map(([, object]) => object), '-o', target]);
  fs.rmSync(objects, { recursive: true });
  checkLoads(target);
}

module.exports = { fail, thirdParty };

if (require.main === module) {
  if (process.argv[2] === '--headers')
    console.log(nodeHeaders());
  else
    build().catch((err) => fail(err.message));
}
