'use strict';

// The native part: built by build.js when the package is installed, or by CMake (target s3lect_node),
// whose tests say where that is.
const path = require('node:path');

const built = path.join(__dirname, '..', 'build', 'Release', 's3lect.node');

try {
  module.exports = require(process.env.S3LECT_NODE_ADDON || built);
} catch (err) {
  // It may also have been built for another Node, libc or machine (ERR_DLOPEN_FAILED).
  const what = { MODULE_NOT_FOUND: 'is not there', ERR_DLOPEN_FAILED: 'does not fit this Node' }[err.code];
  if (what !== undefined) {
    err.message = `s3lect: its native part ${what} (${err.message.split('\n')[0]}): run ` +
      '"npm rebuild s3lect", without --ignore-scripts. npm 11 and later may first want ' +
      '"npm approve-scripts s3lect", and pnpm "pnpm approve-builds"';
  }
  throw err;
}
