'use strict';

// Prints options.d.ts: the types of those options of an elector that are the library's, with what
// elector.h says of each. The package contains the result; pack.js makes it.

const fs = require('node:fs');
const path = require('node:path');

const HEADER = path.join(__dirname, '..', '..', 'include', 's3lect', 'elector.h');
const OTHERS = new Set(['size', 'store', 'peer_client']); // index.d.ts has the latter two

function typeOf(type, comment) {
  if (type === 'int32_t') // an enumeration, whose words index.d.ts has, or a flag
    return comment.startsWith('s3lect_') ? 'string' : 'boolean';
  return type === 'uint32_t' ? 'number' : 'string';
}

function optionTypes() {
  const [, body] = /struct s3lect_elector_options_s \{([^]*?)\n\}/.exec(fs.readFileSync(HEADER, 'utf8'));
  let text = '/** Options of the library. */\nexport interface LibraryOptions {\n';
  for (const [, type, name, lines] of body.matchAll(/^ {2}(?:const )?(\w+)\*? (\w+);\s*\/\* ([^]*?) \*\//gm)) {
    const comment = lines.replace(/\s+/g, ' ').replace(/^1: /, '');
    const camel = name.replace(/_([a-z])/g, (_, letter) => letter.toUpperCase());
    if (!OTHERS.has(name))
      text += `  /** ${comment} */\n  ${camel}?: ${typeOf(type, comment)};\n`;
  }
  return `${text}}\n`;
}

if (require.main === module)
  process.stdout.write(optionTypes());

module.exports = { optionTypes };
