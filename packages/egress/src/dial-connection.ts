import type { Client, Dispatcher } from 'undici';
import type { Link } from './vetted-connect.ts';

/** Of the head of one answer. Servers rarely take 16 KiB themselves. */
export const maxHeadBytes = 32 * 1024;
/** At once on one HTTP/2 connection; more need another one. */
const maxStreams = 100;

/** What a connection's client gets when it asks for another socket: this one is all there is. */
export class ConnectionGone extends Error {
  override readonly name = 'ConnectionGone';
}

/**
 * HTTP on one link that was vetted. The client that speaks never connects by itself: when its socket is gone, so is it.
 * What it has not begun to send by then fails with ConnectionGone.
 */
export class DialConnection {
  readonly link: Link;
  readonly #client: Client;
  #inFlight = 0;
  #gone = false;
  /** Whether a request was on it before: the other side may have closed it meanwhile. */
  used = false;

  private constructor(link: Link, client: Client) {
    this.link = link;
    this.#client = client;
  }

  /** @param origin as `https://api.example.com:8443`. */
  static async open(link: Link, origin: string): Promise<DialConnection> {
    // Loaded when something is sent: whoever only asks a policy does not pay for it.
    const { Client: HttpClient } = await import('undici');
    let given = false;
    const client = new HttpClient(origin, {
      connect: (_options, callback) => {
        const isFirst = !given;
        given = true;
        if (!isFirst) connection.#gone = true;
        // Not before this returns: the client is not ready for it.
        queueMicrotask(() => (isFirst ? callback(null, link.socket) : callback(new ConnectionGone(), null)));
      },
      pipelining: 1,
      allowH2: true,
      maxHeaderSize: maxHeadBytes,
      // These are kept by a Watch, which knows of retries and readers.
      headersTimeout: 0,
      bodyTimeout: 0,
      // A body that is longer than it said would be read as the next request.
      strictContentLength: true,
      h2Options: { maxConcurrentStreams: maxStreams },
    });
    const connection = new DialConnection(link, client);
    link.socket.once('close', () => {
      connection.#gone = true;
    });
    return connection;
  }

  get isAlive(): boolean {
    return !this.#gone && !this.link.socket.destroyed;
  }

  /** Whether one more request has room. */
  get hasRoom(): boolean {
    return this.isAlive && this.#inFlight < (this.link.protocol === 'h2' ? maxStreams : 1);
  }

  get isIdle(): boolean {
    return this.#inFlight === 0;
  }

  claim(): void {
    this.#inFlight++;
  }

  release(): void {
    this.#inFlight--;
    this.used = true;
  }

  dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): void {
    this.#client.dispatch(options, handler);
  }

  kill(): void {
    this.#gone = true;
    this.link.kill();
    void this.#client.destroy().catch(() => {});
  }
}
