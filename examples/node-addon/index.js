'use strict';

const { Elector } = require('./lib/elector');
const { FileStore, MemoryStore, S3Store } = require('./lib/store');
const { version } = require('./lib/binding');

exports.Elector = Elector;
exports.S3Store = S3Store;
exports.FileStore = FileStore;
exports.MemoryStore = MemoryStore;
/** The version of the native library. */
exports.version = version;
