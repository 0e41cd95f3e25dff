import { startTimer } from '../harness/primordials.ts';

/** Requests of the node that may be open at once: the host takes 64 streams in all, and the rest of them is the harness's. */
export const maxOpenRequests = 32;
/** Streams that are left to uploads, the log and the result even where requests given up still hold theirs. */
const keptStreams = 8;
const roomPollMs = 1;

interface Waiting {
  readonly start: () => void;
  next: Waiting | undefined;
}

/** How many more streams may be opened at once. */
interface Room {
  readonly room: number;
}

/**
 * Lets requests begin in the order in which they were made, as many at once as there is room for. Who has its turn gives it
 * back by `leave`. One that was given up while it waited may be started all the same, and leaves at once.
 */
export class Turns {
  readonly #channel: Room;
  #open = 0;
  #first: Waiting | undefined;
  #last: Waiting | undefined;
  #polling = false;

  constructor(channel: Room) {
    this.#channel = channel;
  }

  take(start: () => void): void {
    if (this.#first === undefined && this.#hasRoom()) {
      this.#open++;
      start();
      return;
    }
    const waiting: Waiting = { start, next: undefined };
    if (this.#last) this.#last.next = waiting;
    else this.#first = waiting;
    this.#last = waiting;
    this.#pollForRoom();
  }

  leave(): void {
    this.#open--;
    this.#startWaiting();
  }

  #hasRoom(): boolean {
    return this.#open < maxOpenRequests && this.#channel.room > keptStreams;
  }

  #startWaiting(): void {
    while (this.#first && this.#hasRoom()) {
      const { start, next } = this.#first;
      this.#first = next;
      if (!next) this.#last = undefined;
      this.#open++;
      start();
    }
    this.#pollForRoom();
  }

  /** A stream that was reset counts until the host has said so too, of which nobody is told. */
  #pollForRoom(): void {
    if (this.#polling || !this.#first || this.#open >= maxOpenRequests) return;
    this.#polling = true;
    startTimer(() => {
      this.#polling = false;
      this.#startWaiting();
    }, roomPollMs);
  }
}
