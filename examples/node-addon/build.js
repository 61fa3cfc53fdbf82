'use strict';

// The install script: builds build/Release/s3lect.node with a C compiler and nothing else, unless a binary that the
// package contains (prebuilds/) loads here. With npm_config_build_from_source=true in the environment it builds in any
// case.
//
// Libuv and OpenSSL are Node's own: the native part is compiled against the headers in vendor/headers and finds
// their symbols in the running process. It links neither. These headers are of the oldest Node that the package
// supports, and fit later ones: N-API, libuv 1 and OpenSSL 3 keep their binary interfaces.
//
// Environment: CC (with options, if need be), CFLAGS, LDFLAGS.

const { spawn, spawnSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');

const vendor = 'vendor';
const built = path.join('build', 'Release', 's3lect.node');

/** The C files of a folder of the package, and of the folders in it. */
function sourcesIn(dir) {
  return fs.readdirSync(path.join(__dirname, dir), { withFileTypes: true }).flatMap((entry) => {
    const file = path.join(dir, entry.name);
    return entry.isDirectory() ? sourcesIn(file) : file.endsWith('.c') ? [file] : [];
  });
}

function words(text) {
  return (text ?? '').split(/\s+/).filter(Boolean);
}

/** How a file is compiled, without the file. All paths are relative to the package, as its binaries keep some. */
const compileFlags = ['-std=gnu11', '-O2', '-fPIC', '-fvisibility=hidden', '-ffunction-sections', '-fdata-sections',
  '-fstack-protector-strong', '-D_GNU_SOURCE', '-DS3LECT_BUILDING', '-DLLHTTP_STRICT_MODE=1',
  ...['include', 'src'].map((dir) => `-I${vendor}/${dir}`),
  ...['headers', 'jsmn', 'llhttp'].flatMap((dir) => ['-isystem', `${vendor}/${dir}`])];

/** How the native part is linked, without the objects. */
function linkFlags(platform) {
  return platform === 'darwin'
    ? ['-bundle', '-undefined', 'dynamic_lookup', '-Wl,-exported_symbol,_napi_register_module_v1']
    : ['-shared', '-Wl,--gc-sections', '-Wl,-z,relro', '-Wl,-z,now', '-Wl,-z,noexecstack',
      '-Wl,--version-script=native/exports.map'];
}

function run(command, args) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd: __dirname, stdio: ['ignore', 'inherit', 'inherit'] });
    child.on('error', (err) => reject(new Error(err.code === 'ENOENT'
      ? `there is no C compiler "${command}": install one (Debian: apt-get install gcc libc6-dev), or name it with CC`
      : `${command}: ${err.message}`)));
    child.on('exit', (code, signal) =>
      code === 0 ? resolve() : reject(new Error(`${command} has failed (${signal ?? code}), see above`)));
  });
}

/* Compiles as many files at a time as there are processors, and links them. */
async function build() {
  if (!fs.existsSync(path.join(__dirname, vendor)))
    throw new Error('vendor/ is not there: in the repository, "node pack.js" makes it');
  const [cc, ...options] = words(process.env.CC || 'cc');
  const objects = path.join(path.dirname(built), 'objects');
  fs.rmSync(path.join(__dirname, objects), { recursive: true, force: true });
  fs.mkdirSync(path.join(__dirname, objects), { recursive: true });
  const jobs = [...sourcesIn('native'), ...sourcesIn(vendor)]
    .map((file, i) => [file, path.join(objects, `${i}-${path.basename(file)}.o`)]);
  const queue = [...jobs];
  const compile = async () => {
    for (let job = queue.shift(); job !== undefined; job = queue.shift())
      await run(cc, [...options, ...compileFlags, ...words(process.env.CFLAGS), '-c', job[0], '-o', job[1]]);
  };
  await Promise.all(Array.from({ length: os.availableParallelism?.() ?? os.cpus().length }, compile));
  await run(cc, [...options, ...linkFlags(process.platform), ...words(process.env.LDFLAGS),
    ...jobs.map(([, object]) => object), '-o', built]);
  fs.rmSync(path.join(__dirname, objects), { recursive: true });
}

/* Whether this Node can load it: why not, or undefined. Not every program called Node has what Node has: others bring
 * another TLS, or none. */
function whyNot(file) {
  const { status, stderr } = spawnSync(process.execPath, ['-e', 'require(process.argv[1])', path.join(__dirname, file)],
    { encoding: 'utf8' });
  return status === 0 ? undefined : /Error: .*/.exec(stderr)?.[0] ?? stderr;
}

async function install() {
  const isAsked = ![undefined, '', 'false'].includes(process.env.npm_config_build_from_source);
  if (!isAsked && whyNot(path.join('lib', 'binding.js')) === undefined)
    return;
  await build();
  const why = whyNot(built);
  if (why !== undefined)
    throw new Error(`it was built, and this Node cannot load it: ${why}`);
}

module.exports = { compileFlags, linkFlags, sourcesIn };

if (require.main === module) {
  install().catch((err) => {
    console.error(`s3lect: ${err.message}`);
    process.exit(1);
  });
}
