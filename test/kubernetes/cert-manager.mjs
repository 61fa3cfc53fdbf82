// Checks objects of cert-manager against the schemas of its CRDs: node cert-manager.mjs MODULES <OBJECTS
// OBJECTS are lines as schemas.py prints them. A CRD's schema lets unknown fields pass (the API server
// would drop them); here a field that the validator never looks at is an error.
import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

const schemas = `${process.argv[2]}/node_modules/@kubernetes-models/cert-manager/_schemas`;

// The value, and in `seen` the path of each field that is read of it.
function watched(value, path, seen) {
  if (value === null || typeof value !== 'object') return value;
  return new Proxy(value, {
    get(target, key) {
      const at = `${path}.${String(key)}`;
      seen.add(at);
      return watched(target[key], at, seen);
    },
  });
}

function paths(value, path) {
  if (value === null || typeof value !== 'object') return [];
  return Object.keys(value).flatMap((key) => [`${path}.${key}`, ...paths(value[key], `${path}.${key}`)]);
}

async function problems(document) {
  const version = document.apiVersion.split('/')[1].replace(/^v/, 'V');
  const file = `${schemas}/CertManagerIo${version}${document.kind}.js`;
  const { validate } = await import(pathToFileURL(file));
  const seen = new Set();
  const valid = validate(watched(document, '', seen));
  const found = valid ? [] : validate.errors.map((e) => `${e.instancePath}: ${e.keyword} ${JSON.stringify(e.params)}`);
  for (const path of paths(document, '')) {
    if (valid && !seen.has(path)) found.push(`${path} is no field`);
  }
  return found;
}

let failed = 0;
const lines = readFileSync(0, 'utf8').split('\n').filter((line) => line !== '');
for (const { file, document } of lines.map((line) => JSON.parse(line))) {
  for (const problem of await problems(document)) {
    failed += 1;
    console.error(`${file}: ${document.kind} ${document.metadata.name}: ${problem}`);
  }
}
console.log(`${lines.length} objects of cert-manager`);
process.exitCode = failed > 0 || lines.length === 0 ? 1 : 0;
