'use strict';

// An election over the network of three candidates that have loaded the package each in its own way: as CommonJS, as an
// ES module, and in a worker. Run in a folder where the package is installed: node contest.js ENDPOINT
// Each candidate leaves as soon as it leads. So all of them lead, one after the other, each with a larger epoch.

const { Worker, isMainThread, parentPort, workerData } = require('node:worker_threads');

function elector(Elector, serverId, endpoint) {
  const candidate = new Elector({
    store: 's3://bucket/locks/contest',
    s3: { endpoint, region: 'us-east-1', accessKeyId: 'test', secretAccessKey: 'testtest' },
    serverId,
    leaderTimeoutMs: 2500,
    frequentIntervalMs: 400,
    infrequentIntervalMs: 400,
  });
  candidate.on('error', (err) => console.error(`${serverId}: ${err.code}`));
  return candidate;
}

/* The epoch that it led with. */
async function contest(Elector, serverId, endpoint) {
  const candidate = elector(Elector, serverId, endpoint);
  const leading = new Promise((resolve) => { candidate.once('leading', resolve); });
  await candidate.start();
  const { epoch } = await leading;
  if (!candidate.isLeader)
    throw new Error(`${serverId} was told that it leads, and does not`);
  await candidate.close();
  return epoch;
}

async function inWorker(endpoint) {
  const worker = new Worker(__filename, { workerData: endpoint });
  return new Promise((resolve, reject) => {
    worker.once('message', resolve);
    worker.once('error', reject);
  });
}

async function main(endpoint) {
  const order = [];
  const note = (name, epoch) => order.push({ name, epoch });
  await Promise.all([
    contest(require('s3lect').Elector, 'cjs', endpoint).then((epoch) => note('cjs', epoch)),
    import('./module.mjs').then(({ Elector }) => contest(Elector, 'esm', endpoint)).then((epoch) => note('esm', epoch)),
    inWorker(endpoint).then((epoch) => note('worker', epoch)),
  ]);
  order.sort((a, b) => (a.epoch < b.epoch ? -1 : 1));
  if (new Set(order.map(({ epoch }) => epoch)).size !== 3)
    throw new Error('two of them led with one epoch');
  console.log(`Node ${process.version} ${process.arch}: led: ${order.map(({ name }) => name).sort().join(' ')}`);
}

if (isMainThread)
  main(process.argv[2]);
else
  contest(require('s3lect').Elector, 'worker', workerData).then((epoch) => parentPort.postMessage(epoch));
