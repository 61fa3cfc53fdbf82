'use strict';

const { Elector } = require('./lib/elector');
const { audit, list } = require('./lib/inspect');
const { PeerClient, PeerServer } = require('./lib/peer');
const { plan } = require('./lib/plan');
const { AzureStore, FileStore, GcsStore, MemoryStore, S3Store, testingSpeed } = require('./lib/store');
const { version } = require('./lib/binding');

exports.Elector = Elector;
exports.S3Store = S3Store;
exports.AzureStore = AzureStore;
exports.GcsStore = GcsStore;
exports.FileStore = FileStore;
exports.MemoryStore = MemoryStore;
exports.PeerClient = PeerClient;
exports.PeerServer = PeerServer;
exports.audit = audit;
exports.list = list;
exports.plan = plan;
exports.testingSpeed = testingSpeed;
/** The version of the native library. */
exports.version = version;
