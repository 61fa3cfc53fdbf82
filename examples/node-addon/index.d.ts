/// <reference types="node" />
import { EventEmitter } from 'node:events';
import type { LibraryOptions } from './options';

/** The version of the native library. */
export const version: string;

/** Keys of the S3 store. */
export interface Credentials {
  accessKeyId: string;
  secretAccessKey: string;
  sessionToken?: string;
  /** When they end; a number is Unix time in ms. Others are asked for ahead of it. Default: never. */
  expiration?: Date | string | number;
}

/** Options of the S3 store. All but the bucket have a default, as in AWS's own tools. */
export interface S3Options {
  bucket: string;
  /** `http[s]://HOST[:PORT]`; default: AWS_ENDPOINT_URL_S3, the profile's, else AWS. */
  endpoint?: string;
  /** Default: AWS_REGION, the profile's, else us-east-1. */
  region?: string;
  accessKeyId?: string;
  secretAccessKey?: string;
  sessionToken?: string;
  /** Keys, or what gives them: asked when keys are needed, and again ahead of their end. What it throws is an 'error' of the
   * electors (S3LECT_ECREDENTIALS); what never comes ends with the request that waits for it. */
  credentials?: Credentials | (() => Credentials | Promise<Credentials>);
  /** Of ~/.aws/config and ~/.aws/credentials. */
  profile?: string;
  /** PEM; default: AWS_CA_BUNDLE, else the system's authorities. */
  caFile?: string;
  /** Default 'auto': virtual hosts on AWS, paths with a custom endpoint. */
  addressing?: 'auto' | 'path' | 'virtual-host';
  connectTimeoutMs?: number;
  tlsTimeoutMs?: number;
  firstByteTimeoutMs?: number;
  idleTimeoutMs?: number;
  maxConnections?: number;
  /** Further headers of every PUT. */
  headers?: Record<string, string>;
  serverSideEncryption?: 'AES256' | 'aws:kms' | 'aws:kms:dsse';
  sseKmsKeyId?: string;
  expectedBucketOwner?: string;
  /** x-amz-checksum-sha256 on every PUT, for buckets with Object Lock. */
  checksum?: boolean;
  useDualstack?: boolean;
  /** `http://[USER:PASSWORD@]HOST[:PORT]`, or '' for none; default: HTTPS_PROXY and the like. */
  proxy?: string;
}

/** A token of Entra, for Azure, or of Google. */
export interface Token {
  token: string;
  /** As that of Credentials. */
  expiration?: Date | string | number;
}

/** Options of the Azure store. All but account and container have a default, as in Azure's own tools. */
export interface AzureOptions {
  /** Default: the connection string's, else AZURE_STORAGE_ACCOUNT. */
  account?: string;
  container: string;
  /** `http[s]://HOST[:PORT][/PATH]`; default: the connection string's, else `https://ACCOUNT.blob.core.windows.net`. */
  endpoint?: string;
  /** One at most of this and the next three; default: AZURE_STORAGE_CONNECTION_STRING, AZURE_STORAGE_KEY,
   * AZURE_STORAGE_SAS_TOKEN, else Entra's identity of the process. */
  accountKey?: string;
  sasToken?: string;
  connectionString?: string;
  /** A token, the account's name with its key, or what gives them, as in S3Options. */
  credentials?: Credentials | Token | (() => Credentials | Token | Promise<Credentials | Token>);
  /** PEM; default: the system's authorities. */
  caFile?: string;
  /** `http://[USER:PASSWORD@]HOST[:PORT]`, or '' for none; default: HTTPS_PROXY and the like. */
  proxy?: string;
  connectTimeoutMs?: number;
  tlsTimeoutMs?: number;
  firstByteTimeoutMs?: number;
  idleTimeoutMs?: number;
  maxConnections?: number;
}

/** Options of the store in Google Cloud Storage. All but bucket have a default, as in Google's own tools. */
export interface GcsOptions {
  bucket: string;
  /** `http[s]://HOST[:PORT]`; default: STORAGE_EMULATOR_HOST, else `https://storage.googleapis.com`. */
  endpoint?: string;
  /** Of an HMAC key; default: GS_ACCESS_KEY_ID and GS_SECRET_ACCESS_KEY, else Google's application default credentials. */
  accessKeyId?: string;
  secretAccessKey?: string;
  /** A token, an HMAC key, or what gives them, as in S3Options. */
  credentials?: Credentials | Token | (() => Credentials | Token | Promise<Credentials | Token>);
  /** PEM; default: the system's authorities. */
  caFile?: string;
  /** `http://[USER:PASSWORD@]HOST[:PORT]`, or '' for none; default: HTTPS_PROXY and the like. */
  proxy?: string;
  connectTimeoutMs?: number;
  tlsTimeoutMs?: number;
  firstByteTimeoutMs?: number;
  idleTimeoutMs?: number;
  maxConnections?: number;
}

/** What the electors of one thread share. */
declare abstract class Shared implements AsyncDisposable {
  /** Closes the electors that use it, then itself. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Of a request for a fenced object. */
export interface FencedOptions {
  /** Of the leadership: the `epoch` of 'leading'. */
  epoch?: bigint;
  /** Bound on all of it; default 30000. */
  timeoutMs?: number;
}

declare abstract class Store extends Shared {
  /** Writes an object of up to 64 MiB that only the newest leader can write: its first line has the epoch. Rejects
   * with `code` S3LECT_EFENCED, and the `epoch` of the object, if a newer leader has written it. The lockfile
   * itself is refused. */
  put(key: string, content: string | NodeJS.ArrayBufferView, options: FencedOptions & { epoch: bigint }): Promise<void>;
  /** Reads the content that put has written; null: there is no object. With an epoch, it first puts the object under
   * that, so that no earlier leader can change any more what is read. */
  get(key: string, options?: FencedOptions): Promise<{ content: Buffer; epoch: bigint } | null>;
}

/** Objects in a bucket of S3, or of what speaks like it. */
export class S3Store extends Store {
  constructor(options: S3Options);
}

/** Objects in a container of Azure Blob Storage. */
export class AzureStore extends Store {
  constructor(options: AzureOptions);
}

/** Objects in a bucket of Google Cloud Storage. */
export class GcsStore extends Store {
  constructor(options: GcsOptions);
}

/** Files in a directory, which must exist, for the processes of one machine. */
export class FileStore extends Store {
  constructor(directory: string | URL);
}

/** Objects in memory, for the electors of one thread: for tests. */
export class MemoryStore extends Store {
  /** `share` is a store whose objects the new one shares, as another process does. */
  constructor(options?: { share?: MemoryStore });
  /** The same as `new MemoryStore({ share: this })`. */
  share(): MemoryStore;
  /** What happens to the requests that begin from now on. 'silent': they are lost. 'loses-replies': writes take effect
   * without a reply. 'refuses': they fail at once. */
  fault(fault: 'works' | 'silent' | 'loses-replies' | 'refuses'): void;
}

/** Of list(). */
export interface ListOptions {
  /** A store, or 's3://BUCKET/PREFIX', 'az://ACCOUNT/CONTAINER/PREFIX', 'gs://BUCKET/PREFIX' or 'file:///DIRECTORY/PREFIX', which is closed in the end. */
  store: S3Store | AzureStore | GcsStore | FileStore | MemoryStore | string;
  /** With 's3://BUCKET/PREFIX': the store's other options. */
  s3?: Omit<S3Options, 'bucket'>;
  /** With 'az://…': the store's other options. */
  azure?: Omit<AzureOptions, 'account' | 'container'>;
  /** With 'gs://…': the store's other options. */
  gcs?: Omit<GcsOptions, 'bucket'>;
  /** What the keys begin with; default: all keys, or what `store` names. */
  prefix?: string;
  /** In place of a prefix: this election only. */
  lockfilePath?: string;
  /** Of lockfilePath. */
  protocol?: 'lockfile' | 'epochs';
  /** Of records that do not tell theirs; default 15000. */
  leaderTimeoutMs?: number;
  /** Of each request; default 5000. */
  requestTimeoutMs?: number;
  /** Cancels it. */
  signal?: AbortSignal;
}

/** What an election's object says. It may be out of date: never decide by it who may write. */
export interface Election {
  /** The lockfile, or what the keys of the epoch files begin with: an elector's lockfilePath. */
  key: string;
  protocol: 'lockfile' | 'epochs';
  /** 'claiming': a provisional claim. 'expired': not renewed in time, by the store's clock. 'absent', with
   * lockfilePath only: there is no object. */
  state: 'led' | 'claiming' | 'released' | 'expired' | 'absent';
  /** Of the leader, or of the last one: */
  leaderId: string;
  leaderAddr: string;
  epoch: bigint;
  /** What it publishes, or ''. */
  value: string;
  /** Since its last write. */
  ageMs: number;
  /** Whether that is by the store's clock; else by this machine's. */
  byStore: boolean;
  leaderTimeoutMs: number;
  /** Unix time in ms, by the leader's clock. */
  lastUpdated: number;
  acquired: number;
  transitions: number;
  successor: string;
}

/** All elections under a prefix, of both protocols and in the order of their keys, or one. */
export function list(options: ListOptions): Promise<Election[]>;

/** Of audit(): either logs or a store. */
export interface AuditOptions {
  /** The text of each log: what `s3lect elect` prints, or `s3lect run --events` writes. */
  logs?: (string | NodeJS.ArrayBufferView)[];
  /** What remembers an election: a store with lockfilePath, or 's3://BUCKET/KEY' or 'file:///DIRECTORY/NAME', which is
   * closed in the end. */
  store?: S3Store | AzureStore | GcsStore | FileStore | MemoryStore | string;
  /** With 's3://BUCKET/KEY': the store's other options. */
  s3?: Omit<S3Options, 'bucket'>;
  /** With 'az://…': the store's other options. */
  azure?: Omit<AzureOptions, 'account' | 'container'>;
  /** With 'gs://…': the store's other options. */
  gcs?: Omit<GcsOptions, 'bucket'>;
  lockfilePath?: string;
  /** 'epochs': the files that keepEpochs has kept. 'lockfile' (default): the versions of a lockfile. */
  protocol?: 'lockfile' | 'epochs';
  /** Of records that do not tell theirs; default 15000. */
  leaderTimeoutMs?: number;
  /** Of each request, as the electors have it; default 5000. */
  requestTimeoutMs?: number;
  /** Cancels the reading of a store. */
  signal?: AbortSignal;
  /** All logs are of one machine: their lease times are compared, exactly. */
  oneMachine?: boolean;
  /** By how much a wall clock may be wrong; default 1000. */
  clockErrorMs?: number;
  /** Of a lockfile, the newest; default 1000. */
  maxVersions?: number;
}

/** One epoch of one candidate. Times are Unix time in ms. */
export interface Leadership {
  id: string;
  epoch: bigint;
  /** Counts candidates and logs from 0. */
  source: number;
  /** Whether its end is known, */
  ended: boolean;
  /** and why it ended, or ''. */
  reason: string;
  from: number;
  /** It led until then for certain, */
  until: number;
  /** and not after this. */
  latest: number;
}

export interface Finding {
  /** 'possible_overlap': clocks or a missing end may be the reason. 'epoch_fell': the later one has the smaller epoch. */
  what: 'overlap' | 'possible_overlap' | 'same_epoch' | 'epoch_fell';
  first: Leadership;
  /** This one began later, as far as can be seen. */
  second: Leadership;
  /** Overlaps: for how long. */
  ms: number;
}

export interface Audit {
  /** Something is wrong for certain: any finding but a possible overlap. */
  wrong: boolean;
  /** In the order of their starts. */
  leaderships: Leadership[];
  findings: Finding[];
  sources: number;
  /** Hand-overs that were shorter than clockErrorMs can tell. */
  close: number;
  unloggedEnds: number;
  /** The lockfile has more versions than maxVersions. */
  moreVersions: boolean;
}

/** Whether two leaders of one election ever led together, and whether epochs grew. Rejects with `code` S3LECT_ERECORD if
 * a line of a log is no event. */
export function audit(options: AuditOptions): Promise<Audit>;

/** Lets time pass so many times as fast (1 to 1000) for s3lect in this process: for tests, before any store is opened. From
 * then on electors accept only stores in memory. */
export function testingSpeed(speed: number): void;

/** Options of a peer client. Of each pair a file, or the text itself, one at most is given. */
export interface PeerClientOptions {
  /** Authorities that may have signed a leader's certificate; default: the system's. */
  caFile?: string;
  ca?: string;
  /** This process's own certificate and key, for servers that want one. */
  certFile?: string;
  cert?: string;
  keyFile?: string;
  key?: string;
  /** Plain HTTP in place of TLS: then no shortcut is taken from what is answered. */
  plainHttp?: boolean;
  connectTimeoutMs?: number;
  idleTimeoutMs?: number;
}

/** Asks the leaders of the electors that have it, so that they need not ask the store. */
export class PeerClient extends Shared {
  constructor(options?: PeerClientOptions);
  /** Reads authorities, certificate and key anew: from the files, or from these options. */
  reload(options?: PeerClientOptions): void;
}

/** Options of a peer server. Of each pair a file, or the text itself, one at most is given. */
export interface PeerServerOptions {
  /** `ADDRESS:PORT` or `[V6]:PORT`; port 0: any. Required, unless pagesListen is given. */
  listen?: string;
  /** Where /metrics, /livez, /readyz and /leader are served in plain HTTP, and nothing else. */
  pagesListen?: string;
  /** Required, with the key, unless plainHttp. */
  certFile?: string;
  cert?: string;
  keyFile?: string;
  key?: string;
  /** Clients must show a certificate that one of these has signed. */
  clientCaFile?: string;
  clientCa?: string;
  plainHttp?: boolean;
  /** Serve /metrics, as Prometheus wants it. */
  metrics?: boolean;
  /** Serve /livez and /readyz. */
  health?: boolean;
  maxConnections?: number;
  maxHeld?: number;
  maxPerAddress?: number;
  maxHeaderBytes?: number;
  headerTimeoutMs?: number;
  idleTimeoutMs?: number;
  maxWaitMs?: number;
}

/** Answers other servers' peer clients, until it is closed. Does not keep the process alive. */
export class PeerServer extends Shared {
  constructor(options: PeerServerOptions);
  readonly port: number;
  /** The port of pagesListen. */
  readonly pagesPort: number;
  /** Answers for an elector, until it is closed; default path: the elector's peerHealthPath. */
  add(elector: Elector, path?: string): this;
  /** Whether it was there. */
  remove(elector: Elector): boolean;
  /** Reads certificates, keys and authorities anew: from the files, or from these options. */
  reload(options?: Omit<PeerServerOptions, 'listen' | 'pagesListen'>): void;
}

/** Options of an elector; those of the library are in options.d.ts. */
export interface ElectorOptions extends LibraryOptions {
  /** A store that electors share and that outlives them, or 's3://BUCKET/KEY', 'az://ACCOUNT/CONTAINER/KEY', 'gs://BUCKET/KEY' or
   * 'file:///DIRECTORY/NAME': a store of this elector's own, closed with it. */
  store: S3Store | AzureStore | GcsStore | FileStore | MemoryStore | string;
  /** With 's3://BUCKET/KEY': the store's other options. */
  s3?: Omit<S3Options, 'bucket'>;
  /** With 'az://…': the store's other options. */
  azure?: Omit<AzureOptions, 'account' | 'container'>;
  /** With 'gs://…': the store's other options. */
  gcs?: Omit<GcsOptions, 'bucket'>;
  /** The lockfile's key. Required unless `store` names it. */
  lockfilePath?: string;
  /** Unique for each candidate. Default: host name, process and thread. */
  serverId?: string;
  expiry?: 'observed' | 'store-clock';
  /** One lockfile (default), or one object per leadership, with lockfilePath for their prefix. */
  protocol?: 'lockfile' | 'epochs';
  /** Peer mode: while a leader stands ask it, at its serverAddr, in place of the store. */
  peerClient?: PeerClient;
  /** Closes the elector when it is aborted; electors may share it. */
  signal?: AbortSignal;
}

/** Options of a plan: those of an elector, of which serverId, peerClient and signal are not used, and: */
export interface PlanOptions extends Omit<ElectorOptions, 'store'> {
  /** 's3://BUCKET/KEY', 'az://ACCOUNT/CONTAINER/KEY', 'gs://BUCKET/KEY' or 'file:///DIRECTORY/NAME'. */
  store: string;
  /** Whether followers ask the leader. Default: 'tls' with a peerClient, else 'none'. */
  peers?: 'none' | 'tls' | 'plain';
  /** How long a request to the store, or a question to a peer, takes at most; default 100. */
  latencyMs?: number;
  /** How many electors this process has on the store. */
  electors?: number;
}

/** For how long nobody leads. The worst time holds while the store answers each request within latencyMs. */
export interface PlanTime {
  worstMs: number;
  meanMs: number;
}

/** The requests of 30 days, at most, and their price, where one is known. */
export interface PlanRequests {
  puts: number;
  lists: number;
  gets: number;
  usd?: number;
}

/** Options that are unsafe or wasteful together. The message names the option and says what to do. */
export interface Advice {
  kind: 'unsafe' | 'wasteful';
  option: string;
  message: string;
}

export interface Plan {
  /** Of the leader's process. */
  crash: PlanTime;
  /** The leader's machine or network is gone, without a word. */
  lostMachine: PlanTime;
  handOver: PlanTime;
  /** There is no lockfile yet, and no epoch file. */
  firstStart: PlanTime;
  leader: PlanRequests;
  /** Under a stable leader. */
  follower: PlanRequests;
  /** That the electors need; 0 if their number was not given. */
  connections: number;
  /** Whose prices, and of when. */
  prices?: string;
  pricesDate?: string;
  /** The smallest IAM policy, or a custom role of Azure or Google, as JSON. */
  policy?: string;
  advice: Advice[];
}

/** What an election with these options does and costs. Reaches no store. */
export function plan(options: PlanOptions): Plan;

export type Reason = 'expired' | 'lost' | 'resigned' | 'stopped' | 'closed';

/** This elector leads. */
export interface LeadingEvent {
  type: 'leading';
  /** The fencing token: pass it along with all you write; the receiver refuses smaller ones. */
  epoch: bigint;
  /** Aborted when this leadership ends, from the event loop: after the loop was blocked, `isLeader`
   * says no before the signal is aborted. */
  signal: AbortSignal;
}

/** With warnBeforeMs: leadership ends in so many milliseconds unless it is renewed ('renewed') by then. */
export interface ExpiringEvent {
  type: 'expiring';
  epoch: bigint;
}

/** It does not lead any more. */
export interface StoppedEvent {
  type: 'stopped';
  epoch: bigint;
  reason: Reason;
}

/** Another one leads, or its address has changed. */
export interface LeaderEvent {
  type: 'leader';
  leader: string | null;
  address: string | null;
  /** 0n if it keeps none. */
  epoch: bigint;
}

/** No leader was found: this elector waits one leader timeout, in case an earlier one is still active. */
export interface ClaimingEvent {
  type: 'claiming';
  epoch: bigint;
}

/** No leader is known: the record is released, absent or only claimed, was not renewed for its leader timeout,
 * or this elector's own leadership has ended. Then 'leader' or 'leading' comes before the next such event. */
export interface NoLeaderEvent {
  type: 'noLeader';
  /** Of the last leader; 0n if there was none. */
  epoch: bigint;
}

/** The value that the leader publishes (setValue) is another one, or that of another epoch: comes after 'leader' of
 * that epoch. The leader is told of its own, too. */
export interface ValueEvent {
  type: 'value';
  leader: string | null;
  /** '' if it publishes none. */
  value: string;
  epoch: bigint;
}

export interface RenewedEvent {
  type: 'renewed';
  epoch: bigint;
}

/** Codes of s3lect and of libuv, `S3LECT_` before each: S3LECT_EDENIED, S3LECT_ECONNREFUSED. */
export interface ElectorError extends Error {
  code: string;
  errno: number;
}

export interface ErrorEvent {
  type: 'error';
  error: ElectorError;
}

export type ElectorEvent = (LeadingEvent | ExpiringEvent | StoppedEvent | LeaderEvent | NoLeaderEvent | ClaimingEvent |
  ValueEvent | ErrorEvent) & {
  /** So many events before this one were dropped, because nobody asked for them. */
  missed?: number;
};

export interface Events extends AsyncIterableIterator<ElectorEvent>, AsyncDisposable {
  [Symbol.asyncIterator](): this;
}

export interface Status {
  role: 'stopped' | 'follower' | 'leader';
  /** The code of the last error. */
  lastError?: string;
  /** Peer mode: why the store is read in place of asking the leader. */
  peerError?: string;
  epoch: bigint;
  validForMs: number;
  /** Of the last record that was seen or written: */
  leaderId: string;
  leaderAddr: string;
  leaderEpoch: bigint;
  /** Unix time in ms, by the writer's clock. */
  lastUpdated: number;
  acquired: number;
  /** Leaderships so far in this election. */
  transitions: number;
  released: boolean;
  /** A provisional claim, where no leader was found: nobody leads by it. */
  claim: boolean;
  successor: string;
  /** What its leader publishes, or ''. */
  value: string;
}

/** Counters since the elector was made. */
export interface Stats {
  reads: number;
  readsNotModified: number;
  writes: number;
  renewals: number;
  leaderships: number;
  retries: number;
  failures: number;
  unknownOutcomes: number;
  unknownResolved: number;
  conflicts: number;
  lateReplies: number;
  peerChecks: number;
  peerAnswers: number;
  peerFailures: number;
  peerRefused: number;
}

interface ElectorEventMap {
  leading: [LeadingEvent];
  expiring: [ExpiringEvent];
  stopped: [StoppedEvent];
  leader: [LeaderEvent];
  noLeader: [NoLeaderEvent];
  claiming: [ClaimingEvent];
  value: [ValueEvent];
  renewed: [RenewedEvent];
  error: [ElectorError];
  close: [];
}

/** One candidate in one election. All calls fail with an Error that has a `code`. */
export class Elector extends EventEmitter implements AsyncDisposable {
  constructor(options: ElectorOptions);

  /** Stands in the election, until stop or close. After a stop it waits for the release to end. */
  start(): Promise<void>;
  /** Stops standing, releasing the record if it leads. */
  stop(): Promise<void>;
  /** Gives up leadership, and goes on standing. Fails if it does not lead. */
  resign(): Promise<void>;
  /** As resign, and names the one that shall lead next. */
  transfer(to: string): Promise<void>;
  /** Changes these options while it runs; others stay. leaderTimeoutMs cannot change while it leads.
   * Fails without any effect, as the constructor does. */
  update(options: Partial<Pick<ElectorOptions, 'serverAddr' | 'priority' | 'frequentIntervalMs' | 'infrequentIntervalMs' |
    'leaderTimeoutMs' | 'renewIntervalMs' | 'requestTimeoutMs' | 'gracePeriodMs' | 'releaseTimeoutMs' | 'stopAckMs' |
    'renewDeadlineMs' | 'warnBeforeMs' | 'peerIntervalMs' | 'peerTimeoutMs'>>): void;
  /** Sets what this elector publishes while it leads, up to 1 KiB of UTF-8; '' or null for none. The next renewal
   * carries it, or with `now` one that is made for it. */
  setValue(text: string | null, options?: { now?: boolean }): void;
  /** Stops, releases, and ends it; any number of times. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
  /** With stopAckMs: acknowledges that the work of this leadership and of all earlier ones has ended.
   * `epoch` is that of the 'stopped' event. */
  ack(epoch: bigint): void;

  /** Asked of the clock anew each time: true only while nobody else can lead. */
  readonly isLeader: boolean;
  /** Milliseconds until leadership ends unless it is renewed; 0 if it does not lead. */
  readonly validForMs: number;
  /** Of the leadership that it holds, or held last; 0n before the first. */
  readonly epoch: bigint;
  /** The leader's ID as last seen. */
  readonly leader: string | null;
  readonly closed: boolean;
  status(): Status;
  stats(): Stats;

  /** What a peer server would answer a request with this method, for a server of your own: `body` is
   * to be sent as application/json if the status is 200; it is empty otherwise. */
  peerResponse(method: string): { status: number; body: string };

  /** The metrics of this elector and of others as one page, in Prometheus's text format, for a server of your
   * own: to be sent as "text/plain; version=0.0.4". Requests are counted from the first call on. */
  metrics(...others: Elector[]): string;

  /** What happens from now on, beginning with 'leading' if it leads; ends when the elector is closed.
   * Up to 1024 events wait to be asked for. */
  events(options?: { signal?: AbortSignal }): Events;

  /** Whether it keeps the process alive while it stands (default yes). */
  ref(): this;
  unref(): this;

  on<K extends keyof ElectorEventMap>(event: K, listener: (...args: ElectorEventMap[K]) => void): this;
  once<K extends keyof ElectorEventMap>(event: K, listener: (...args: ElectorEventMap[K]) => void): this;
  off<K extends keyof ElectorEventMap>(event: K, listener: (...args: ElectorEventMap[K]) => void): this;
  addListener<K extends keyof ElectorEventMap>(event: K, listener: (...args: ElectorEventMap[K]) => void): this;
  removeListener<K extends keyof ElectorEventMap>(event: K, listener: (...args: ElectorEventMap[K]) => void): this;
  prependListener<K extends keyof ElectorEventMap>(event: K, listener: (...args: ElectorEventMap[K]) => void): this;
  prependOnceListener<K extends keyof ElectorEventMap>(event: K, listener: (...args: ElectorEventMap[K]) => void): this;
}
