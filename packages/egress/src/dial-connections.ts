import type { DialConnection } from './dial-connection.ts';
import { untilAborted } from './timeouts.ts';

/** As many as a scope may have requests at once; beyond that nobody needs those that nothing is on. */
const maxKept = 64;

/** `fresh` never gives a connection that another request was on. */
export type ConnectionChoice = 'any' | 'fresh';

export interface ConnectionPlace {
  readonly key: string;
  /** Where it is known before anybody has connected. */
  readonly protocol: 'h1' | 'h2' | undefined;
}

/**
 * The connections of one scope, by where they lead and under which allowances they were vetted. There are as many as there
 * are requests at once over HTTP/1.1, and one for a hundred over HTTP/2; how many requests there are is for the caller to bound.
 * Beyond 64 none is kept for later: a node that goes through the sub-domains of a host would use up the sockets of this one.
 */
export class DialConnections {
  readonly #places = new Map<string, PlaceConnections>();
  /** Those of all places, the oldest first. */
  readonly #open = new Set<DialConnection>();

  /**
   * A connection with room for one more request, which is then claimed: release it.
   *
   * While it is not known whether a place speaks HTTP/2, one connection to it is opened at a time, so that many first requests
   * can share it.
   */
  async acquire(
    { key, protocol }: ConnectionPlace,
    choice: ConnectionChoice,
    open: () => Promise<DialConnection>,
    signal: AbortSignal,
  ): Promise<DialConnection> {
    const place = this.#placeOf(key, protocol);
    while (choice === 'any') {
      const found = place.find();
      if (found !== undefined) {
        found.claim();
        return found;
      }
      if (place.opening === undefined || place.protocol === 'h1') break;
      await untilAborted(place.opening, signal);
    }
    this.#makeRoom();
    return place.open(open);
  }

  #makeRoom(): void {
    for (const connection of this.#open) {
      if (this.#open.size < maxKept) return;
      if (!connection.isIdle) continue;
      this.#open.delete(connection);
      connection.kill();
    }
  }

  /** Forget and kill them all. */
  killAll(): void {
    for (const place of this.#places.values()) place.killAll();
    this.#places.clear();
    this.#open.clear();
  }

  #placeOf(key: string, protocol: ConnectionPlace['protocol']): PlaceConnections {
    const known = this.#places.get(key);
    if (known !== undefined) return known;
    const place = new PlaceConnections(protocol, this.#open);
    this.#places.set(key, place);
    return place;
  }
}

class PlaceConnections {
  readonly #open = new Set<DialConnection>();
  readonly #ofAll: Set<DialConnection>;
  protocol: ConnectionPlace['protocol'];
  /** Settles when the connection that is being opened is there, or is not to be had. Never rejects. */
  opening: Promise<void> | undefined;

  constructor(protocol: ConnectionPlace['protocol'], ofAll: Set<DialConnection>) {
    this.protocol = protocol;
    this.#ofAll = ofAll;
  }

  find(): DialConnection | undefined {
    for (const connection of this.#open) {
      if (!connection.isAlive) this.#open.delete(connection);
      else if (connection.hasRoom) return connection;
    }
    return undefined;
  }

  open(open: () => Promise<DialConnection>): Promise<DialConnection> {
    const connection = open().then((opened) => {
      // Before anybody else can see it: whoever opened it has it first.
      opened.claim();
      this.#open.add(opened);
      this.#ofAll.add(opened);
      this.protocol = opened.link.protocol;
      opened.link.socket.once('close', () => {
        this.#open.delete(opened);
        this.#ofAll.delete(opened);
      });
      return opened;
    });
    const opening = connection
      .then(
        () => {},
        () => {},
      )
      .finally(() => {
        if (this.opening === opening) this.opening = undefined;
      });
    this.opening = opening;
    return connection;
  }

  killAll(): void {
    for (const connection of this.#open) connection.kill();
    this.#open.clear();
  }
}
