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

// An elector that nobody refers to any more, and that was never started, is closed by the garbage
// collector: what it uses must not keep it.
const gone = new FinalizationRegistry(({ electors, ref }) => electors.delete(ref));

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
    const electors = [...this.#electors].map((ref) => ref.deref()?.close());
    this.#native.close(); // takes no further electors, and waits for those that there are
    await Promise.all(electors);
    await ended;
  }

  [Symbol.asyncDispose]() {
    return this.close();
  }

  /** For Elector; gives a function that ends it. */
  static use(shared, elector) {
    const ref = new WeakRef(elector);
    const electors = shared.#electors;
    electors.add(ref);
    gone.register(elector, { electors, ref }, ref);
    return () => {
      electors.delete(ref);
      gone.unregister(ref);
    };
  }
}

module.exports = { Shared, nativeOf, setNative };
