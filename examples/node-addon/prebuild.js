'use strict';

// "npm run prebuild" in the repository: makes prebuilds/, the native part for Linux on two machines and with two libcs,
// and prebuilds/provenance.json, which says what they were made of and how. "npm run prebuild -- linux-x64-musl" makes
// only that one. The compiler is Zig's clang (deps/install-zig.sh), which has the headers of all four targets. Made of
// the same sources, the files are the same to the byte on each machine and in each folder.

const { execFileSync } = require('node:child_process');
const crypto = require('node:crypto');
const fs = require('node:fs');
const path = require('node:path');

const { compileFlags, linkFlags, sourcesIn } = require('./build');
const { SOURCES, clean, digest, fetched, pack, provenance } = require('./pack');
const { version } = require('./package.json');

// glibc 2.28 is the one that Node 18 and later need at least.
const TARGETS = {
  'linux-x64-glibc': 'x86_64-linux-gnu.2.28',
  'linux-x64-musl': 'x86_64-linux-musl',
  'linux-arm64-glibc': 'aarch64-linux-gnu.2.28',
  'linux-arm64-musl': 'aarch64-linux-musl',
};
function commit() {
  try {
    const git = (...args) => execFileSync('git', args, { cwd: __dirname, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
    return git('rev-parse', 'HEAD').trim() + (git('status', '--porcelain') === '' ? '' : ', changed');
  } catch {
    return 'unknown';
  }
}

/* One command compiles and links: Zig does that in parallel, and keeps what it has compiled. */
function build(zig, name) {
  const file = path.posix.join('prebuilds', name, 's3lect.node');
  const options = ['cc', '-target', TARGETS[name], ...compileFlags, '-g0', ...linkFlags('linux'), '-s', '-o', file];
  fs.mkdirSync(path.join(__dirname, path.dirname(file)), { recursive: true });
  execFileSync(zig, [...options, ...SOURCES.flatMap(sourcesIn).sort()], { cwd: __dirname, stdio: 'inherit' });
  const data = fs.readFileSync(path.join(__dirname, file));
  console.log(`${file}: ${data.length} bytes`);
  return {
    file,
    sha256: crypto.createHash('sha256').update(data).digest('hex'),
    bytes: data.length,
    command: `zig ${options.join(' ')} $(find ${SOURCES.join(' ')} -name '*.c' | LC_ALL=C sort)`,
  };
}

function prebuild(names) {
  const unknown = names.find((name) => !(name in TARGETS));
  if (unknown !== undefined)
    throw new Error(`there is no target ${unknown}; the targets are ${Object.keys(TARGETS).join(', ')}`);
  const zig = fetched('install-zig.sh');
  fs.rmSync(path.dirname(provenance), { recursive: true, force: true });
  const thirdParty = pack();
  try {
    const text = {
      package: `s3lect ${version}`,
      commit: commit(),
      thirdParty,
      sources: digest(...SOURCES),
      sourcesCommand: `find ${SOURCES.join(' ')} -type f | LC_ALL=C sort | xargs sha256sum | sha256sum`,
      compiler: `PyPI ziglang ${execFileSync(zig, ['version'], { encoding: 'utf8' }).trim()}`,
      binaries: names.map((name) => build(zig, name)),
    };
    fs.writeFileSync(provenance, `${JSON.stringify(text, null, 2)}\n`);
  } finally {
    clean();
  }
}

try {
  prebuild(process.argv.length > 2 ? process.argv.slice(2) : Object.keys(TARGETS));
} catch (err) {
  console.error(`s3lect: ${err.message}`);
  process.exit(1);
}
