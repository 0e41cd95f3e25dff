import { Socket } from 'node:net';

/**
 * A connection that carries a stream of a cell. That celld closes it is not its end: a celld that is killed closes it too,
 * in the middle of what the cell wrote. The end counts from when celld says that all of it was passed on.
 */
export class CellConnection extends Socket {
  #isWhole = false;
  #isHeld = false;

  /** Called when the connection has ended and celld has yet to say what that means. */
  onHeld = (): void => {};

  static to(socketPath: string): CellConnection {
    return new CellConnection().connect({ path: socketPath });
  }

  get isHeld(): boolean {
    return this.#isHeld;
  }

  /** Whether all of it was passed on, as celld says, or its reader has let go of it. */
  get isSettled(): boolean {
    return this.#isWhole || this.destroyed;
  }

  /** All of it was passed on: its end is one. */
  confirm(): void {
    this.#isWhole = true;
    if (!this.#isHeld) return;
    this.#isHeld = false;
    super.push(null);
    // As after any end: where nothing is left to be read, that tells so.
    this.read(0);
  }

  override push(chunk: unknown, encoding?: BufferEncoding): boolean {
    if (chunk !== null || this.#isWhole) return super.push(chunk, encoding);
    this.#isHeld = true;
    this.onHeld();
    return false;
  }
}
