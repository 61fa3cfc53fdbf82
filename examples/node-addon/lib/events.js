'use strict';

const QUEUE_MAX = 1024;

/* What elector.events() gives. Events wait here until they are asked for; of more than QUEUE_MAX that
 * nobody asks for the oldest are dropped. */
class Events {
  #queue = [];
  #waiting = []; // those who have asked already: [resolve, reject]
  #dropped = 0;
  #over = false;
  #error;
  #onOver;

  constructor(onOver) {
    this.#onOver = onOver;
  }

  push(event) {
    if (this.#over)
      return;
    const asked = this.#waiting.shift();
    if (asked !== undefined) {
      asked[0]({ value: event, done: false });
      return;
    }
    this.#queue.push(event);
    if (this.#queue.length > QUEUE_MAX) {
      this.#queue.shift();
      this.#dropped++;
    }
  }

  /** No more events. What is in the queue can still be had, unless there is an error. */
  end(error) {
    if (this.#over)
      return;
    this.#over = true;
    this.#error = error;
    if (error !== undefined)
      this.#queue = [];
    this.#onOver(this);
    for (const [resolve, reject] of this.#waiting.splice(0)) {
      if (this.#error === undefined)
        resolve({ value: undefined, done: true });
      else
        this.#fail(reject);
    }
  }

  #fail(reject) {
    const error = this.#error;
    this.#error = undefined; // once
    reject(error);
  }

  next() {
    return new Promise((resolve, reject) => {
      const event = this.#queue.shift();
      if (event !== undefined) {
        if (this.#dropped > 0)
          event.missed = this.#dropped;
        this.#dropped = 0;
        resolve({ value: event, done: false });
      } else if (this.#error !== undefined) {
        this.#fail(reject);
      } else if (this.#over) {
        resolve({ value: undefined, done: true });
      } else {
        this.#waiting.push([resolve, reject]);
      }
    });
  }

  async return(value) {
    this.end();
    this.#queue = [];
    return { value, done: true };
  }

  async throw(error) {
    this.end();
    this.#queue = [];
    throw error;
  }

  [Symbol.asyncIterator]() {
    return this;
  }

  async [Symbol.asyncDispose]() {
    await this.return();
  }
}

module.exports = { Events };
