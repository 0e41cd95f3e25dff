import type { ChannelClient, ClientStream } from '@glovebox/channel';
import type { controlAuthority, controlPaths, Job } from '@glovebox/contract';
import { asyncIterator, Bytes, lengthOf, parseJsonText, setBytes, utf8Bytes, utf8Text } from './primordials.ts';

/** As in the contract, which is not loaded here: it would bring its schemas along. */
const authority: typeof controlAuthority = 'control.invalid';
export const paths: typeof controlPaths = {
  job: '/job',
  bundle: '/bundle',
  loaded: '/loaded',
  log: '/log',
  progress: '/progress',
  files: '/files/',
  result: '/result',
  cancel: '/cancel',
};

export interface Answer {
  status: number;
  body: Uint8Array;
}

/** The cell's requests to its control plane. */
export class Control {
  readonly #client: ChannelClient;

  constructor(client: ChannelClient) {
    this.#client = client;
  }

  open(method: string, path: string, headers: { [name: string]: string } = {}): ClientStream {
    return this.#client.open({ method, url: `http://${authority}${path}`, headers });
  }

  /** How many more requests may be open at once. */
  get room(): number {
    return this.#client.room;
  }

  /** Hand over now what was written, in case that author code never yields again. */
  flush(): void {
    this.#client.flush();
  }

  /** A request whose answer nobody needs. */
  send(method: string, path: string, text: string, headers?: { [name: string]: string }): ClientStream {
    const stream = this.open(method, path, headers);
    if (text !== '') void stream.write(utf8Bytes(text));
    stream.end();
    return stream;
  }

  get(path: string): Promise<Answer> {
    return readAnswer(this.send('GET', path, ''));
  }

  async job(): Promise<Job> {
    const { status, body } = await this.get(paths.job);
    if (status !== 200) throw new Error(`the host answered ${status} to the job request`);
    return parseJsonText(textOfBody(body)) as Job;
  }
}

/** The whole answer. Only for what the host keeps small, and for the bundle. */
export async function readAnswer(stream: ClientStream): Promise<Answer> {
  const { status } = await stream.response;
  const reader = stream.body[asyncIterator]();
  let first: Chunk | undefined;
  let last: Chunk | undefined;
  let total = 0;
  for (let next = await reader.next(); !next.done; next = await reader.next()) {
    const chunk: Chunk = { bytes: next.value, next: undefined };
    if (last) last.next = chunk;
    else first = chunk;
    last = chunk;
    total += lengthOf(next.value);
  }
  const body = new Bytes(total);
  for (let at = 0; first; first = first.next) {
    setBytes(body, first.bytes, at);
    at += lengthOf(first.bytes);
  }
  return { status, body };
}

interface Chunk {
  readonly bytes: Uint8Array;
  next: Chunk | undefined;
}

export const textOfBody = (body: Uint8Array): string => utf8Text(body, 0, lengthOf(body));
