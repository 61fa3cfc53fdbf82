'use strict';

// The native part: built when the package was installed (build.js), or else one of those that the package contains
// (prebuilds/), which is chosen here and not by an install script, since many package managers run none. The tests
// name the one that CMake has built (target s3lect_node).
const fs = require('node:fs');
const path = require('node:path');

/* The libc that Linux has mapped into this process: glibc's file is libc.so.6, and libc-2.28.so before version 2.34. */
function libc() {
  try {
    return /\/libc(\.so\.6|-2\.\d+\.so)$/m.test(fs.readFileSync('/proc/self/maps', 'latin1')) ? 'glibc' : 'musl';
  } catch {
    return 'glibc'; // without /proc
  }
}

const machine = [process.platform, process.arch, ...(process.platform === 'linux' ? [libc()] : [])].join('-');
const files = process.env.S3LECT_NODE_ADDON ? [process.env.S3LECT_NODE_ADDON]
  : [['build', 'Release'], ['prebuilds', machine]].map((dirs) => path.join(__dirname, '..', ...dirs, 's3lect.node'));

function load() {
  const reasons = [];
  for (const file of files.filter((name) => fs.existsSync(name))) {
    try {
      return require(file);
    } catch (err) { // built for another Node, libc or machine
      reasons.push(`${path.relative(path.join(__dirname, '..'), file)} does not fit this Node: ${err.message.split('\n')[0]}`);
    }
  }
  if (reasons.length === 0)
    reasons.push(`its native part is not there, and the package contains none for ${machine}`);
  throw new Error(`s3lect: ${reasons.join('; ')}: run "npm rebuild s3lect", without ` +
    '--ignore-scripts. npm 11 and later may first want "npm approve-scripts s3lect", and pnpm "pnpm approve-builds"');
}

module.exports = load();
