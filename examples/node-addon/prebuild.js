'use strict';

// "npm run prebuild" in the repository: makes prebuilds/, the native part for Linux on two machines and with two libcs,
// the command s3lect for these machines as static programs, and prebuilds/provenance.json, which says what they were made
// of and how. "npm run prebuild -- linux-x64-musl" makes only that one. The compiler is Zig's clang
// (deps/install-zig.sh), which has the headers of all targets. Made of the same sources, the native parts are the same to
// the byte on each machine and in each folder.

const { execFileSync } = require('node:child_process');
const crypto = require('node:crypto');
const fs = require('node:fs');
const path = require('node:path');

const { compileFlags, linkFlags, sourcesIn } = require('./build');
const { SOURCES, clean, digest, fetched, pack, provenance, root } = require('./pack');
const { version } = require('./package.json');

// glibc 2.28 is the one that Node 18 and later need at least.
const TARGETS = {
  'linux-x64-glibc': 'x86_64-linux-gnu.2.28',
  'linux-x64-musl': 'x86_64-linux-musl',
  'linux-arm64-glibc': 'aarch64-linux-gnu.2.28',
  'linux-arm64-musl': 'aarch64-linux-musl',
};
const COMMANDS = {
  'linux-x64': 'amd64',
  'linux-arm64': 'arm64',
};
const ALL = [...Object.keys(TARGETS), ...Object.keys(COMMANDS)];

function commit() {
  try {
    const git = (...args) => execFileSync('git', args, { cwd: __dirname, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
    return git('rev-parse', 'HEAD').trim() + (git('status', '--porcelain') === '' ? '' : ', changed');
  } catch {
    return 'unknown';
  }
}

/* What provenance.json says of a file, and its line on the terminal. */
function made(file, command) {
  const data = fs.readFileSync(path.join(__dirname, file));
  console.log(`${file}: ${data.length} bytes`);
  return { file, sha256: crypto.createHash('sha256').update(data).digest('hex'), bytes: data.length, command };
}

/* One command compiles and links: Zig does that in parallel. Its cache of objects would only grow: they are never found
 * there again, since vendor/ has new files each time. */
function buildAddon(zig, name) {
  const file = path.posix.join('prebuilds', name, 's3lect.node');
  const options = ['cc', '-target', TARGETS[name], ...compileFlags, '-g0', ...linkFlags('linux'), '-s', '-o', file];
  const cache = path.join(__dirname, 'build', 'zig');
  fs.mkdirSync(path.join(__dirname, path.dirname(file)), { recursive: true });
  execFileSync(zig, [...options, ...SOURCES.flatMap(sourcesIn).sort()],
    { cwd: __dirname, stdio: 'inherit', env: { ...process.env, ZIG_LOCAL_CACHE_DIR: cache } });
  fs.rmSync(cache, { recursive: true });
  return made(file, `zig ${options.join(' ')} $(find ${SOURCES.join(' ')} -name '*.c' | LC_ALL=C sort)`);
}

/* Musl is in the program, and Zig has its licence. Those of the others are in vendor/. */
function buildCommand(zig, name) {
  const file = path.posix.join('prebuilds', name, 's3lect');
  const program = fetched('packaging/static.sh', COMMANDS[name]);
  fs.mkdirSync(path.join(__dirname, path.dirname(file)), { recursive: true });
  fs.copyFileSync(program, path.join(__dirname, file));
  fs.copyFileSync(path.join(path.dirname(zig), 'ziglang', 'lib', 'libc', 'musl', 'COPYRIGHT'),
    path.join(__dirname, path.dirname(file), 'LICENSE.musl'));
  return made(file, `packaging/static.sh ${COMMANDS[name]}`);
}

/* The sources of the libraries that the static command contains. */
function crates() {
  const lock = fs.readFileSync(path.join(root, 'deps', 'cross', 'Cargo.lock'), 'utf8');
  return Object.fromEntries(['libuv-sys2', 'openssl-src'].map((name) => {
    const [, version, checksum] = new RegExp(`name = "${name}"\nversion = "(.*)"\n.*\nchecksum = "(.*)"`).exec(lock);
    return [name, `crates.io ${name} ${version}, sha256 ${checksum}`];
  }));
}

function prebuild(names) {
  const unknown = names.find((name) => !ALL.includes(name));
  if (unknown !== undefined)
    throw new Error(`there is no target ${unknown}; the targets are ${ALL.join(', ')}`);
  const zig = fetched('deps/install-zig.sh');
  fs.rmSync(path.dirname(provenance), { recursive: true, force: true });
  const thirdParty = { ...pack(), ...(names.some((name) => name in COMMANDS) ? crates() : {}) };
  try {
    const text = {
      package: `s3lect ${version}`,
      commit: commit(),
      thirdParty,
      sources: digest(...SOURCES),
      sourcesCommand: `find ${SOURCES.join(' ')} -type f | LC_ALL=C sort | xargs sha256sum | sha256sum`,
      compiler: `PyPI ziglang ${execFileSync(zig, ['version'], { encoding: 'utf8' }).trim()}`,
      binaries: names.map((name) => (name in TARGETS ? buildAddon : buildCommand)(zig, name)),
    };
    fs.writeFileSync(provenance, `${JSON.stringify(text, null, 2)}\n`);
  } finally {
    clean();
  }
}

try {
  prebuild(process.argv.length > 2 ? process.argv.slice(2) : ALL);
} catch (err) {
  console.error(`s3lect: ${err.message}`);
  process.exit(1);
}
