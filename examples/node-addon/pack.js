'use strict';

// "npm pack" in the repository: copies what build.js compiles into vendor/, so that the package needs
// nothing but Node and a C compiler, and makes options.d.ts; "node pack.js clean" removes both again. The repository itself
// keeps no source of others: jsmn and llhttp come from where the system has them.

const fs = require('node:fs');
const path = require('node:path');

const { fail, thirdParty } = require('./build');
const { optionTypes } = require('./option-types');

const root = path.resolve(__dirname, '..', '..');
const vendor = path.join(__dirname, 'vendor');
const types = path.join(__dirname, 'options.d.ts');

function copy(from, to, names) {
  fs.mkdirSync(to, { recursive: true });
  for (const name of names)
    fs.copyFileSync(path.join(from, name), path.join(to, name));
}

/* Their licences (MIT) ask to be kept with the source. */
function copyLicence(name, debian) {
  const file = [process.env[`${name.toUpperCase()}_LICENSE`], `/usr/share/doc/${debian}/copyright`]
    .find((candidate) => candidate && fs.existsSync(candidate));
  if (file === undefined)
    fail(`the licence of ${name} is not there: name its file with ${name.toUpperCase()}_LICENSE`);
  fs.copyFileSync(file, path.join(vendor, name, 'LICENSE'));
}

function pack() {
  fs.rmSync(vendor, { recursive: true, force: true });
  fs.writeFileSync(types, optionTypes());
  fs.cpSync(path.join(root, 'include'), path.join(vendor, 'include'), { recursive: true });
  fs.cpSync(path.join(root, 'src'), path.join(vendor, 'src'), {
    recursive: true,
    filter: (file) => !file.startsWith(path.join(root, 'src', 'cli')) &&
      (fs.statSync(file).isDirectory() || /\.[ch]$/.test(file)),
  });
  const { jsmn, llhttp, llhttpInclude } = thirdParty();
  copy(jsmn, path.join(vendor, 'jsmn'), ['jsmn.h']);
  copy(llhttp, path.join(vendor, 'llhttp'), ['llhttp.c', 'api.c', 'http.c']);
  copy(llhttpInclude, path.join(vendor, 'llhttp'), ['llhttp.h']);
  copyLicence('jsmn', 'libjsmn-dev');
  copyLicence('llhttp', 'node-llhttp');
}

if (process.argv[2] === 'clean') {
  fs.rmSync(vendor, { recursive: true, force: true });
  fs.rmSync(types, { force: true });
} else {
  pack();
}
