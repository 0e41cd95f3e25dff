import type { ErrorData } from '@glovebox/contract';
import { problemMediaType, toProblem } from '@glovebox/contract/routes';

const fixedHeaders = {
  // What a node wrote must never be taken for a page or a script, and records are not for shared caches.
  'x-content-type-options': 'nosniff',
  'cache-control': 'no-store',
} as const;

/**
 * An answer, of the shape of a `Response` as far as a client needs it, without being one: to load the classes of the web
 * platform costs a start of Node.js 30 ms, more than all else that a short command does.
 */
export class Reply {
  readonly status: number;
  readonly headers: ReplyHeaders;
  readonly #content: string | AsyncIterable<Uint8Array>;

  private constructor(status: number, mediaType: string, content: string | AsyncIterable<Uint8Array>) {
    this.status = status;
    this.headers = new ReplyHeaders({ ...fixedHeaders, 'content-type': mediaType });
    this.#content = content;
  }

  static json(status: number, value: unknown): Reply {
    return new Reply(status, 'application/json', JSON.stringify(value));
  }

  static problem(error: ErrorData): Reply {
    const problem = toProblem(error);
    return new Reply(problem.status, problemMediaType, JSON.stringify(problem));
  }

  static stream(status: number, mediaType: string, content: AsyncIterable<Uint8Array>): Reply {
    return new Reply(status, mediaType, content);
  }

  /** The same once the first bytes are there: what goes wrong before them is thrown here, and is no answer yet. */
  static async bytes(status: number, mediaType: string, content: AsyncIterable<Uint8Array>): Promise<Reply> {
    const rest = content[Symbol.asyncIterator]();
    const first = await rest.next();
    return new Reply(status, mediaType, withFirst(first, rest));
  }

  get body(): AsyncIterable<Uint8Array> {
    return typeof this.#content === 'string' ? encoded(this.#content) : this.#content;
  }

  async text(): Promise<string> {
    if (typeof this.#content === 'string') return this.#content;
    const chunks: Uint8Array[] = [];
    for await (const chunk of this.#content) chunks.push(chunk);
    return Buffer.concat(chunks).toString();
  }

  /** The same for a listener and for whoever calls with a `Request`. */
  toResponse(): Response {
    const content = typeof this.#content === 'string' ? this.#content : ReadableStream.from(this.#content);
    return new Response(content as ConstructorParameters<typeof Response>[0], {
      status: this.status,
      headers: this.headers.entries(),
    });
  }
}

class ReplyHeaders {
  readonly #values: Readonly<Record<string, string>>;

  /** @param values by names in lower case. */
  constructor(values: Readonly<Record<string, string>>) {
    this.#values = values;
  }

  get(name: string): string | null {
    return this.#values[name.toLowerCase()] ?? null;
  }

  entries(): [string, string][] {
    return Object.entries(this.#values);
  }
}

/**
 * What is left after a first step, with that step. No generator: one that is left before its first step runs none of its own
 * `finally`, and would leave open what `rest` holds.
 */
function withFirst(
  first: IteratorResult<Uint8Array>,
  rest: AsyncIterator<Uint8Array>,
): AsyncIterableIterator<Uint8Array> {
  let next: IteratorResult<Uint8Array> | undefined = first;
  return {
    async next() {
      const step = next ?? (await rest.next());
      next = undefined;
      return step;
    },
    async return() {
      next = undefined;
      await rest.return?.();
      return { done: true, value: undefined };
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}

async function* encoded(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}
