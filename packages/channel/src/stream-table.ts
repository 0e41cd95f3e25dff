import { abuse, type Violation } from './frame.ts';
import { min } from './primordials.ts';
import type { Stream } from './stream.ts';

/**
 * The streams that are not over on this side, oldest first. Linked through the streams themselves, as there are few:
 * nothing is allocated, and no method of Map or Array is called that author code could have replaced.
 */
export class StreamTable {
  readonly #most: number;
  first: Stream | undefined;
  #last: Stream | undefined;
  /** The stream last looked up: most frames are of the same. */
  #recent: Stream | undefined;
  #count = 0;
  #everAdded = 0;
  #lateFrames = 0;

  constructor(most: number) {
    this.#most = most;
  }

  get count(): number {
    return this.#count;
  }

  get everAdded(): number {
    return this.#everAdded;
  }

  add(stream: Stream): void {
    stream.previous = this.#last;
    if (this.#last) this.#last.next = stream;
    else this.first = stream;
    this.#last = stream;
    stream.listed = true;
    this.#count++;
    this.#everAdded++;
  }

  find(id: number): Stream | undefined {
    if (this.#recent && this.#recent.id === id) return this.#recent;
    let stream = this.first;
    while (stream && stream.id !== id) stream = stream.next;
    if (stream) this.#recent = stream;
    return stream;
  }

  remove(stream: Stream): void {
    if (!stream.listed) return;
    stream.listed = false;
    if (stream.queue) stream.queue.remove(stream);
    if (stream.previous) stream.previous.next = stream.next;
    else this.first = stream.next;
    if (stream.next) stream.next.previous = stream.previous;
    else this.#last = stream.previous;
    stream.next = undefined;
    stream.previous = undefined;
    if (this.#recent === stream) this.#recent = undefined;
    this.#count--;
  }

  /**
   * Forget a stream on which both sides have sent END. The other side may not know yet, and may have sent a RESET and
   * `credits` CREDITs meanwhile.
   */
  removeEnded(stream: Stream, credits: number): void {
    // A peer can take at most as many streams as it may open for open that are not: the cap loses nothing.
    this.#lateFrames = min(this.#lateFrames + 1 + credits, this.#most * 5);
    this.remove(stream);
  }

  /** A RESET or CREDIT came for a stream that is over. How many of them can be honest is known; more is a flood. */
  lateFrame(streamId: number): Violation | undefined {
    if (this.#lateFrames === 0) return abuse('late-frames', `a frame for stream ${streamId}, which is over`);
    this.#lateFrames--;
    return undefined;
  }
}

/** Streams in order, each in at most one queue. Linked as above. */
export class StreamQueue {
  first: Stream | undefined;
  #last: Stream | undefined;

  push(stream: Stream): void {
    stream.queue = this;
    stream.queuePrevious = this.#last;
    stream.queueNext = undefined;
    if (this.#last) this.#last.queueNext = stream;
    else this.first = stream;
    this.#last = stream;
  }

  remove(stream: Stream): void {
    if (stream.queuePrevious) stream.queuePrevious.queueNext = stream.queueNext;
    else this.first = stream.queueNext;
    if (stream.queueNext) stream.queueNext.queuePrevious = stream.queuePrevious;
    else this.#last = stream.queuePrevious;
    stream.queue = undefined;
    stream.queueNext = undefined;
    stream.queuePrevious = undefined;
  }

  moveAllTo(other: StreamQueue): void {
    let stream = this.first;
    while (stream) {
      this.remove(stream);
      other.push(stream);
      stream = this.first;
    }
  }
}
