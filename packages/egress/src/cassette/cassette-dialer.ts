import { GloveboxError } from '@glovebox/contract';
import {
  answerFields,
  BodyDigester,
  bodyOf,
  type Cassette,
  type CassetteEntry,
  CassettePlayer,
  canonicalUrl,
  type Miss,
  missText,
} from '@glovebox/sdk/cassette';
import type { Dialer, DialRequest, DialResponse, DialScope, Target } from '../api.ts';

/** In records, where the address of the other side would stand, and the protocol. */
export const cassetteAddress = 'cassette';

/** Bytes of an answer that are handed on at a time, as from a socket. */
const chunkBytes = 64 * 1024;

/** A dialer that reaches nothing: what a cassette has is answered from it, what it has not is `CASSETTE_MISS`. */
export interface CassetteDialer extends Dialer {
  /** What of the cassette was asked for, and what else. */
  readonly player: Pick<CassettePlayer, 'misses' | 'unused'>;
}

/**
 * A session over this dialer decides, counts and records as over the network: a fixture gets nothing that its manifest does
 * not declare. No name is looked up, so no address is judged. All scopes play the same cassette.
 */
export function createCassetteDialer(cassette: Cassette): CassetteDialer {
  const player = new CassettePlayer(cassette);
  return {
    player,
    scope: () => new CassetteScope(player),
    agents: () => {
      throw new GloveboxError('INTERNAL', { message: 'a cassette has no agents' });
    },
    destroy: () => undefined,
  };
}

class CassetteScope implements DialScope {
  readonly #player: CassettePlayer;
  #destroyed = false;

  constructor(player: CassettePlayer) {
    this.#player = player;
  }

  async request({ target, method, headers, body, fence, signal }: DialRequest): Promise<DialResponse> {
    fence();
    const digester = new BodyDigester(headers['content-type']);
    for await (const chunk of body ?? []) {
      fence();
      digester.update(chunk);
    }
    this.#requireOpen(signal);
    fence();
    const taken = this.#player.take({ method, url: urlOf(target), body: digester.end()?.digest });
    if (taken.kind === 'miss') throw missed(taken.miss, missText(taken.miss));
    const { response } = taken.entry;
    return {
      status: response.status,
      headers: headersOf(response),
      body: method === 'HEAD' ? chunksOf(Buffer.alloc(0)) : chunksOf(bodyOf(response.body)),
      address: cassetteAddress,
      protocol: 'cassette',
      retries: 0,
    };
  }

  async upgrade({ target, fence, signal }: Parameters<DialScope['upgrade']>[0]): Promise<never> {
    fence();
    this.#requireOpen(signal);
    const miss = this.#player.miss({ method: 'GET', url: urlOf(target), body: undefined });
    throw missed({ ...miss, nearest: null }, `GET ${miss.url} asks for a WebSocket, which no cassette holds`);
  }

  destroy(): void {
    this.#destroyed = true;
  }

  #requireOpen(signal: AbortSignal): void {
    if (this.#destroyed || signal.aborted)
      throw new GloveboxError('EGRESS_FAILED', {
        message: 'The request was given up.',
        details: { reason: 'CONNECTION_LOST' },
      });
  }
}

const missed = (miss: Miss, message: string): GloveboxError =>
  new GloveboxError('CASSETTE_MISS', { message: `${message}.`, details: { reason: 'CASSETTE_MISS', ...miss } });

/** A target came from a URL, so it makes one; what it makes is looked for as it is where it is none. */
function urlOf({ scheme, authority, path, query }: Target): string {
  const url = `${scheme}://${authority}${path}${query}`;
  return canonicalUrl(url) ?? url;
}

/** As DialResponse has them: `set-cookie` as a JSON array of its fields. */
function headersOf(response: CassetteEntry['response']): Record<string, string> {
  const byName = Map.groupBy(answerFields(response), ([name]) => name);
  return Object.fromEntries(
    [...byName].map(([name, fields]) => {
      const values = fields.map(([, value]) => value);
      return [name, name === 'set-cookie' ? JSON.stringify(values) : values.join(', ')];
    }),
  );
}

async function* chunksOf(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.byteLength; at += chunkBytes) yield bytes.subarray(at, at + chunkBytes);
}
