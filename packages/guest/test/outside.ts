import { setTimeout as delay } from 'node:timers/promises';
import type { ServerStream } from '@glovebox/channel';
import { bytes } from './host.ts';

/** What reached the host of one request. */
export interface Asked {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  body: string;
  bodyBytes: number;
  aborted: boolean;
}

export interface Outside {
  readonly asked: Asked[];
  /** The most that were open at once. */
  readonly mostOpen: number;
  readonly onEgress: (stream: ServerStream) => void;
}

type Serve = (stream: ServerStream, asked: Asked, url: URL) => Promise<void>;

const json = { 'content-type': 'application/json' };

/** Answers as the host would, by the first part of the path. Nothing leaves this process. */
const services: { readonly [name: string]: Serve } = {
  /** All of the request, after its end. */
  echo: async (stream, asked) => {
    const body = await bytes(stream.body);
    asked.body = body.toString('utf8');
    asked.bodyBytes = body.length;
    await answer(stream, 200, json, JSON.stringify(asked));
  },
  /** As `echo`, without the body. */
  count: async (stream, asked) => {
    for await (const chunk of stream.body) asked.bodyBytes += chunk.length;
    await answer(stream, 200, json, JSON.stringify(asked));
  },
  /** `/bytes/1000` */
  bytes: async (stream, _asked, url) => {
    const total = Number(url.pathname.split('/')[2]);
    stream.respond({ status: 200, headers: url.search === '?length' ? { 'content-length': `${total}` } : {} });
    for (let left = total; left > 0; left -= 65_536) await stream.write(Buffer.alloc(Math.min(left, 65_536), 'x'));
    stream.end();
  },
  /** A head, and then a line every 10 ms for ever. */
  endless: async (stream) => {
    stream.respond({ status: 200, headers: { 'content-type': 'text/event-stream' } });
    for (let n = 0; !stream.signal.aborted; n++) {
      await stream.write(Buffer.from(`data: ${n}\n\n`));
      await delay(10);
    }
  },
  /** Never answers. */
  silent: async () => undefined,
  /** `/status/404` */
  status: (stream, _asked, url) => answer(stream, Number(url.pathname.split('/')[2]), {}, url.search.slice(1)),
  /** `/redirect/307?to` */
  redirect: (stream, _asked, url) =>
    answer(stream, Number(url.pathname.split('/')[2]), { location: decodeURIComponent(url.search.slice(1)) }, ''),
  cookies: (stream) =>
    answer(stream, 200, { 'set-cookie': '["a=1; Path=/","b=2; Expires=Wed, 21 Oct 2037 07:28:00 GMT"]' }, ''),
  /** `/headers?name=value` */
  headers: (stream, _asked, url) => answer(stream, 200, Object.fromEntries(url.searchParams), 'abc'),
  /** Denied, with what would allow it. */
  denied: (stream) =>
    answer(
      stream,
      403,
      { 'glovebox-egress': 'denied', 'content-type': 'application/problem+json' },
      JSON.stringify({
        code: 'EGRESS_DENIED',
        reason: 'PATH_NOT_DECLARED',
        rule: null,
        patch: { rules: [{ host: 'api.test' }] },
        approver: 'author',
        hint: 'Declare the path.',
      }),
    ),
  /** `/failed/EGRESS_TIMED_OUT` */
  failed: (stream, _asked, url) =>
    answer(
      stream,
      403,
      { 'glovebox-egress': 'failed' },
      JSON.stringify({ code: url.pathname.split('/')[2], reason: 'X' }),
    ),
  /** `/broken/RESPONSE_TOO_LARGE`: begins and breaks off for that reason. */
  broken: async (stream, _asked, url) => {
    stream.respond({ status: 200, headers: {} });
    await stream.write(Buffer.from('begun'));
    await delay(20);
    stream.reset(`${url.pathname.split('/')[2]}: for people`);
  },
  /** Answers before it reads, and reads nothing. */
  early: (stream) => answer(stream, 413, {}, 'too large'),
  /** Upgrades and echoes the bytes of frames back, unmasked: a WebSocket server for short texts. */
  socket: async (stream, asked) => {
    const { acceptOf, echoFrames } = await import('./websocket.ts');
    const key = asked.headers['sec-websocket-key'] ?? '';
    stream.respond({ status: 200, headers: { 'sec-websocket-accept': acceptOf(key) } });
    await echoFrames(stream);
    stream.end();
  },
};

export function outside(): Outside {
  const asked: Asked[] = [];
  let open = 0;
  let mostOpen = 0;
  const onEgress = (stream: ServerStream): void => {
    const { method, url, headers } = stream.head;
    const one: Asked = { method, url, headers: { ...headers }, body: '', bodyBytes: 0, aborted: false };
    asked.push(one);
    mostOpen = Math.max(mostOpen, ++open);
    stream.signal.addEventListener('abort', () => {
      one.aborted = true;
      open--;
    });
    const parsed = new URL(url);
    // What libraries make their paths from is not known here.
    const serve = services[parsed.pathname.split('/')[1] ?? ''] ?? (services.echo as Serve);
    serve(stream, one, parsed).then(
      () => {
        if (serve !== services.silent && !stream.signal.aborted) open--;
      },
      (error: unknown) => {
        if (!stream.signal.aborted) stream.reset(String(error));
      },
    );
  };
  return {
    asked,
    get mostOpen() {
      return mostOpen;
    },
    onEgress,
  };
}

async function answer(
  stream: ServerStream,
  status: number,
  headers: Record<string, string>,
  body: string,
): Promise<void> {
  stream.respond({ status, headers });
  if (body !== '') await stream.write(Buffer.from(body));
  stream.end();
}
