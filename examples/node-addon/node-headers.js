'use strict';

// Prints the folder of the headers that belong to this Node, or says why there is none (exit 1): CMake compiles
// against them. Environment: npm_config_nodedir, a folder with include/node (also --nodedir of npm).

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');

function fail(message) {
  console.error(message);
  process.exit(1);
}

/* Headers of another major version of Node would be of another libuv and OpenSSL. */
function headersAreNodes(dir) {
  const text = fs.readFileSync(path.join(dir, 'node_version.h'), 'utf8');
  return /define NODE_MAJOR_VERSION (\d+)/.exec(text)?.[1] === process.versions.node.split('.')[0];
}

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
console.log(found);
