import { defaultEgressPolicy, type EgressRecord, httpRuleSchema } from '@glovebox/contract';
import type { CellRequest, Egress, EgressSession } from '../src/api.ts';

/** What a cell got. */
export interface CellAnswer {
  status: number | undefined;
  headers: { [name: string]: string };
  body: Buffer;
  /** Why it broke off. */
  reset: string | undefined;
}

export interface CellAsks {
  method?: string;
  headers?: { [name: string]: string };
  body?: string | readonly Uint8Array[];
  /** Give the answer up once so many bytes of it are there. */
  leaveAfter?: number;
}

/** Ask as a cell does, and wait until the host has done with it. */
export async function ask(session: EgressSession, url: string, asks: CellAsks = {}): Promise<CellAnswer> {
  const { method = 'GET', headers = {}, body = [], leaveAfter = Number.POSITIVE_INFINITY } = asks;
  const answer: CellAnswer = { status: undefined, headers: {}, body: Buffer.alloc(0), reset: undefined };
  const leave = new AbortController();
  const request: CellRequest = {
    head: { method, url, headers },
    body: chunksOf(typeof body === 'string' ? [Buffer.from(body)] : body),
    signal: leave.signal,
    respond: (head) => void Object.assign(answer, head),
    write: async (chunk) => {
      leave.signal.throwIfAborted();
      answer.body = Buffer.concat([answer.body, chunk]);
      if (answer.body.length >= leaveAfter) leave.abort();
    },
    end: () => undefined,
    reset: (reason) => {
      answer.reset = reason;
    },
  };
  await session.accept(request);
  return answer;
}

async function* chunksOf(parts: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  for (const part of parts) if (part.byteLength > 0) yield part;
}

export interface CellManifest {
  host: string;
  port: number;
  methods?: ('GET' | 'POST' | 'PUT' | 'HEAD')[];
  maxRequests?: number;
  maxResponseBytes?: number;
}

/** A session of an attempt that may ask one host, and what is on record of it. */
export function openSession(
  egress: Egress,
  {
    host,
    port,
    methods = ['GET', 'POST', 'PUT', 'HEAD'],
    maxRequests = 2000,
    maxResponseBytes = 2 ** 30,
  }: CellManifest,
  policy = defaultEgressPolicy,
): { session: EgressSession; records: EgressRecord[] } {
  const records: EgressRecord[] = [];
  const session = egress.open({
    project: 'default',
    run: 'run',
    attempt: 'attempt',
    node: 'node',
    grant: {
      rules: [httpRuleSchema.parse({ scheme: 'https', host, port, methods, paths: ['/**'] })],
      maxRequests,
      maxResponseBytes,
      maxRedirects: 3,
    },
    policy,
    deadlineAtBootMs: performance.now() + 60_000,
    bootMs: () => performance.now(),
    now: () => Date.now(),
    record: async (record) => void records.push(record),
  });
  return { session, records };
}
