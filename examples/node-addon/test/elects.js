'use strict';

// What the tests of electors on each store share.

const assert = require('node:assert/strict');

const { Elector, list } = require('..');
const { event } = require('./support');

/* Two electors lead one after the other, and a list finds the first. `url` ends with a slash; `access`
 * has the store's options. */
async function electsByUrl(t, url, access, times) {
  const options = { store: `${url}elections/a`, ...access, ...times };
  const e = new Elector({ ...options, serverId: 'a' });
  t.after(() => e.close());
  await e.start();
  const { epoch } = await event(e, 'leading');
  assert.ok(epoch > 0n);
  const [found] = await list({ store: `${url}elections/`, ...access });
  assert.equal(found.key, 'elections/a');
  assert.equal(found.leaderId, 'a');
  const next = new Elector({ ...options, serverId: 'b' });
  t.after(() => next.close());
  await next.start();
  const leading = event(next, 'leading');
  await e.close();
  assert.ok((await leading).epoch > epoch);
}

function refused(options, message) {
  assert.throws(() => new Elector(options), { code: 'S3LECT_EOPTION', message });
}

module.exports = { electsByUrl, refused };
