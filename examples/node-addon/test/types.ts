// Compiled by "tsc --strict" (test/types.sh), and never run: what a program may write, and what it may
// not.
import { audit, AzureStore, Elector, GcsStore, S3Store, MemoryStore, PeerClient, PeerServer, type LeadingEvent, list, plan, testingSpeed, version } from 's3lect';
async function main() {
  await using store = new S3Store({ bucket: 'b', credentials: async () => ({ accessKeyId: 'a', secretAccessKey: 'b', expiration: new Date() }) });
  await using e = new Elector({ store, lockfilePath: 'x', expiry: 'store-clock', signal: AbortSignal.timeout(5) });
  e.on('leading', ({ epoch, signal }) => { const n: bigint = epoch; signal.throwIfAborted(); void n; });
  e.once('stopped', (ev) => { if (ev.reason === 'expired') return; });
  e.on('error', (err) => err.code.length);
  e.on('close', () => {});
  e.update({ serverAddr: 'h:1', renewIntervalMs: 5 });
  e.setValue('v', { now: true }); e.setValue(null); e.on('value', ({ value }) => value.length);
  await e.start(); await e.transfer('x'); e.ref().unref();
  for await (const ev of e.events({ signal: AbortSignal.abort() })) {
    if (ev.type === 'leading') { const s: AbortSignal = ev.signal; void s; }
    else if (ev.type === 'error') ev.error.code;
    else if (ev.type === 'expiring') { const n: bigint = ev.epoch; void n; }
    else if (ev.type === 'noLeader') { const n: bigint = ev.epoch; void n; }
    else if (ev.type === 'value') { const v: string = ev.value; void v; }
    else if (ev.type === 'claiming') { const n: bigint = ev.epoch; void n; }
    else if (ev.type === 'leader') { const l: string | null = ev.leader; void l; }
  }
  await using server: AsyncDisposable = new PeerServer({ listen: '[::]:0', certFile: 'c', keyFile: 'k' }).add(e, '/x');
  const f = new Elector({ store: 's3://b/k', s3: { region: 'x' }, peerClient: new PeerClient(), peerTimeoutMs: 5 });
  const { status, body } = f.peerResponse('GET'); body.length + status; void server;
  const s = e.status(); s.role === 'leader'; e.stats().reads + 1; const l: LeadingEvent | null = null; void l; void version;
  await store.put('k', 'text', { epoch: 5n, timeoutMs: 100 });
  const read = await store.get('k', { epoch: 5n }); if (read !== null) { const n: bigint = read.epoch; read.content.length + Number(n); }
  for (const election of await list({ store: 's3://b/locks/', s3: { region: 'x' }, signal: AbortSignal.timeout(5) })) {
    const n: bigint = election.epoch; election.state === 'led'; election.value.length + Number(n) + election.ageMs;
  }
  await using azure = new AzureStore({ account: 'a', container: 'c', credentials: async () => ({ token: 't' }) });
  new Elector({ store: 'az://a/c/k', azure: { sasToken: 's' } }); await list({ store: azure, lockfilePath: 'k' });
  await using gcs = new GcsStore({ bucket: 'b', credentials: { token: 't' } });
  new Elector({ store: 'gs://b/k', gcs: { accessKeyId: 'a', secretAccessKey: 's' } }); await list({ store: gcs, lockfilePath: 'k' });
  await list({ store, lockfilePath: 'k', protocol: 'epochs' });
  // @ts-expect-error
  await list({ prefix: 'x' });
  const { crash, leader, advice, policy } = plan({ store: 'gs://b/k', leaderTimeoutMs: 9000, peers: 'tls', electors: 5, s3: { maxConnections: 9 } });
  const usd: number | undefined = leader.usd; const text: string | undefined = policy; crash.worstMs + advice.filter((a) => a.kind === 'unsafe').length; void usd; void text;
  const judged = await audit({ logs: ['', Buffer.from('')], oneMachine: true, clockErrorMs: 5 });
  if (judged.wrong) { const n: bigint = judged.findings[0].first.epoch; judged.findings[0].what === 'overlap'; void n; }
  await audit({ store: 's3://b/k', s3: { region: 'x' }, maxVersions: 5 });
  // @ts-expect-error
  await audit({ logs: 'text' });
  testingSpeed(100); const memory = new MemoryStore(); memory.share().fault('loses-replies'); new MemoryStore({ share: memory });
  // @ts-expect-error
  memory.fault('nonsense');
  // @ts-expect-error
  await store.put('k', 'text', {});
  // @ts-expect-error
  new Elector({ store: 5 });
  // @ts-expect-error
  new Elector({ store: new MemoryStore(), leaderTimeout: 5 });
  // @ts-expect-error
  plan({ store });
  // @ts-expect-error
  e.update({ serverId: 'x' });
  // @ts-expect-error
  e.on('nonsense', () => {});
}
main();
