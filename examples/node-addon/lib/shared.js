'use strict';

const natives = new WeakMap();

/** The native part of an object of this package's. */
function nativeOf(object) {
  const native = natives.get(object);
  if (native === undefined)
    throw Object.assign(new TypeError('not an object of s3lect, or of another kind'), { code: 'S3LECT_EINVAL' });
  return native;
}

function setNative(object, native) {
  natives.set(object, native);
}

/** What electors share, and what closes its electors before itself. */
class Shared {
  #native;
  #electors = new Set();
  #closed;
  #ended;

  constructor(native) {
    this.#native = native;
    this.#native.onClosed = () => this.#ended?.();
    setNative(this, native);
  }

  /** Closes the electors that use it, then itself. */
  close() {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close() {
    const ended = new Promise((resolve) => {
      this.#ended = resolve;
    });
    const electors = [...this.#electors].map((elector) => elector.close());
    this.#native.close(); // takes no further electors, and waits for those that there are
    await Promise.all(electors);
    await ended;
  }

  [Symbol.asyncDispose]() {
    return this.close();
  }

  /** For Elector. */
  static use(shared, elector) {
    shared?.#electors.add(elector);
  }

  static unuse(shared, elector) {
    shared?.#electors.delete(elector);
  }
}

module.exports = { Shared, nativeOf, setNative };
