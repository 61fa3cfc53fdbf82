'use strict';

// The native part: built by build.js when the package is installed, or by CMake (target s3lect_node),
// whose tests say where that is.
const path = require('node:path');

const built = path.join(__dirname, '..', 'build', 'Release', 's3lect.node');

try {
  module.exports = require(process.env.S3LECT_NODE_ADDON || built);
} catch (err) {
  if (err.code !== 'MODULE_NOT_FOUND')
    throw err;
  err.message = `s3lect: its native part is not there (${err.message.split('\n')[0]}): run ` +
    '"npm rebuild s3lect", without --ignore-scripts';
  throw err;
}
