import { duplexPair } from 'node:stream';
import { type ClientStream, connectClient, serveChannel } from '@glovebox/channel';
import { type EgressPolicy, type EgressRecord, egressPolicySchema, type HttpRule } from '@glovebox/contract';
import type { DialTimeouts, EgressProblem, EgressSession, HttpGrant, SessionOptions } from '../src/api.ts';
import { createEgress } from '../src/session.ts';
import { openDialer } from './dialing.ts';

/** What a test changes of an attempt that may do everything on one port of `origin.test`. */
export interface CellOptions extends Partial<Omit<SessionOptions, 'grant' | 'policy'>> {
  port: number;
  rule?: Partial<HttpRule>;
  /** `none`: the manifest declares no http. */
  grant?: Partial<Omit<HttpGrant, 'rules'>> | 'none';
  policy?: Partial<EgressPolicy>;
  extraCa?: readonly string[];
  timeouts?: DialTimeouts;
}

export interface Cell {
  session: EgressSession;
  /** In the order in which they were told. */
  records: EgressRecord[];
  abuses: string[];
  /** Its boot clock stands still but for this. */
  clock: { ms: number };
  open(method: string, url: string, headers?: Record<string, string>): ClientStream;
  /** Ask, and read the answer to its end. */
  ask(url: string, options?: { method?: string; headers?: Record<string, string>; body?: string }): Promise<CellAnswer>;
  close(): void;
}

export interface CellAnswer {
  status: number;
  headers: { [name: string]: string };
  text: string;
  /** Of an answer that is ours. */
  problem: (EgressProblem & { detail: string }) | undefined;
}

const cells: Cell[] = [];

/** For `afterEach`. */
export function closeCells(): void {
  for (const cell of cells.splice(0)) cell.close();
}

export const startMs = 1000;
export const deadlineMs = 61_000;

/** Both ends of a real channel, with a session of the real dialer at the host's. */
export function openCell(options: CellOptions): Cell {
  const { port, rule = {}, grant = {}, policy = {}, extraCa = [], timeouts, ...rest } = options;
  const records: EgressRecord[] = [];
  const abuses: string[] = [];
  const clock = { ms: startMs };
  const dialer = openDialer({ extraCa });
  const session = createEgress(dialer, timeouts).open({
    project: 'default',
    run: 'run_1',
    attempt: 'att_1',
    node: 'a-node',
    grant: grant === 'none' ? undefined : { ...roomy, ...grant, rules: [{ ...anything(port), ...rule }] },
    policy: egressPolicySchema.parse({
      allowances: [
        { id: 'loopback', host: 'origin.test', cidrs: ['127.0.0.0/8'], ports: [port], reason: 'it is a test' },
      ],
      ...policy,
    }),
    deadlineAtBootMs: deadlineMs,
    bootMs: () => clock.ms,
    now: Date.now,
    record: async (record) => void records.push(record),
    onAbuse: (detail) => abuses.push(detail),
    ...rest,
  });
  const [hostEnd, cellEnd] = duplexPair();
  const server = serveChannel(hostEnd, (stream) => session.accept(stream));
  const client = connectClient(cellEnd);
  const open: Cell['open'] = (method, url, headers = {}) => {
    const stream = client.open({ method, url, headers });
    stream.response.catch(() => undefined);
    return stream;
  };
  const cell: Cell = {
    session,
    records,
    abuses,
    clock,
    open,
    async ask(url, { method = 'GET', headers = {}, body } = {}) {
      const stream = open(method, url, headers);
      if (body !== undefined) await stream.write(Buffer.from(body));
      stream.end();
      return readAnswer(stream);
    },
    close() {
      session.end();
      client.close();
      server.close();
    },
  };
  cells.push(cell);
  return cell;
}

export async function readAnswer(stream: ClientStream): Promise<CellAnswer> {
  const { status, headers } = await stream.response;
  const chunks: Uint8Array[] = [];
  for await (const chunk of stream.body) chunks.push(chunk);
  const text = Buffer.concat(chunks).toString();
  const isOurs = headers['glovebox-egress'] !== undefined;
  return { status, headers, text, problem: isOurs ? JSON.parse(text) : undefined };
}

const roomy: Omit<HttpGrant, 'rules'> = { maxRequests: 100, maxResponseBytes: 1024 ** 3, maxRedirects: 3 };

const anything = (port: number): HttpRule => ({
  scheme: 'https',
  host: 'origin.test',
  port,
  methods: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'],
  paths: ['/**'],
  websocket: false,
});

/** Wait until something holds that a test has set in motion. */
export async function until(holds: () => boolean): Promise<void> {
  for (const timer = AbortSignal.timeout(30_000); !holds(); ) {
    timer.throwIfAborted();
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
