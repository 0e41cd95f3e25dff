import { type ChannelClient, connectClient } from '@glovebox/channel';
import { afterTicks, whenSettled } from './promises.ts';
import { CellTransport, type ChannelFds } from './transport.ts';

/** The descriptor that a cell's channel is on, as the host's driver passes it. */
const socketFds: ChannelFds = { readFd: 3, writeFd: 3 };

/** Where it is when an engine passes nothing but the standard streams: our program moved it there, which started Node.js. */
const movedFds: ChannelFds = { readFd: 3, writeFd: 4 };

/** The last argument says so. Before author code, which could change it. */
export const authorFds = (): ChannelFds => (process.argv[process.argv.length - 1] === 'stdio' ? movedFds : socketFds);

/** The channel, and who reads for it when. */
export class CellChannel {
  readonly client: ChannelClient;
  readonly #transport: CellTransport;

  constructor(fds: ChannelFds) {
    this.#transport = new CellTransport(fds);
    this.client = connectClient(this.#transport.asDuplex());
  }

  /** Something waits for the host; its answer is read by the event loop. */
  hold(): void {
    this.#transport.hold();
  }

  release(): void {
    this.#transport.release();
  }

  /** Take in whatever the host may say unasked, without keeping the process alive for it. */
  listen(): void {
    this.#transport.adopt();
  }

  /** As `listen`, and what has arrived at once. */
  readArrived(): void {
    this.#transport.readArrived();
  }

  /**
   * Wait for `promise` and nothing else: the process blocks. For when there is no author code, or none that matters.
   *
   * @param promise one that is safe to await.
   */
  async block<T>(promise: Promise<T>): Promise<T> {
    let done = false;
    const finish = (): void => {
      done = true;
    };
    whenSettled(promise, finish, finish);
    for (;;) {
      // Whatever can happen without a word from the host has happened after this.
      await afterTicks();
      if (done) return await promise;
      this.#transport.readNow();
    }
  }

  /** Until one more request may be opened, or the channel has ended: the process blocks. */
  waitForRoom(): void {
    while (this.client.room === 0 && !this.#transport.destroyed) {
      this.client.flush();
      this.#transport.readNow();
    }
  }

  /** Send what is left, as the host gives credit for it, and never come back: not a line of author code runs any more. */
  blockForEver(exitNow: (code: number) => never): never {
    while (!this.#transport.destroyed) {
      this.client.flush();
      this.#transport.readNow();
    }
    return exitNow(1);
  }
}
