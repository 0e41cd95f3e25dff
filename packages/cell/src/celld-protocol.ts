import { acceptableRisks, cellClasses, type ErrorData, errorCodes, idPatterns, parseJson } from '@glovebox/contract';
import { z } from 'zod';
import { decodeText, protocolError } from './celld-protocol-lines.ts';
import type { CellEnd, CellFacts, CellGauges, HostReport, SweepReport } from './driver.ts';

export { type Lines, openLines, protocolError, readLine } from './celld-protocol-lines.ts';

/**
 * What is said between celld and its clients: one line of JSON after the other, on local sockets. docs/celld.md tells who
 * says what when. A connection begins with one request; a cell's streams are connections of their own, which after their
 * first line carry nothing but the stream's bytes.
 */
export const celldVersion = 1;

/** UTF-8 bytes of a line without its end. What celld is told is small; what it tells may be a report of a host. */
export const celldLineBytes = { request: 4096, answer: 65_536 } as const;

const maxDepth = 8;
const maxTextChars = 2000;

/** The streams of a cell; `stdin` is there in bundle cells alone. */
export const cellStreams = ['channel', 'stdout', 'stderr', 'stdin'] as const;
export type CellStreamName = (typeof cellStreams)[number];

const risk = z.enum(Object.keys(acceptableRisks) as [keyof typeof acceptableRisks]);
const cellId = z.string().regex(idPatterns.cell);
/** 128 bits that the client chose: who knows it has the cell. */
const key = z.string().regex(/^[0-9a-f]{32}$/);
const celld = z.literal(celldVersion);
const nothing = z.strictObject({});
const count = z.int().min(0);

/** The first line of a connection. */
export const celldRequestSchema = z.discriminatedUnion('open', [
  // Plan and id are judged as every driver judges them: by checkPlan, which says what is wrong with them.
  z.strictObject({ celld, open: z.literal('cell'), id: z.string(), key, plan: z.unknown() }),
  z.strictObject({ celld, open: z.literal('stream'), id: cellId, key, stream: z.enum(cellStreams) }),
  z.strictObject({
    celld,
    open: z.literal('inspect'),
    image: z.string().regex(idPatterns.digest).exactOptional(),
    class: z.enum(cellClasses).exactOptional(),
  }),
  z.strictObject({ celld, open: z.literal('sweep') }),
  z.strictObject({ celld, open: z.literal('gauges') }),
]);
export type CelldRequest = z.infer<typeof celldRequestSchema>;

/** What a client says on the connection of its cell once that is booted. */
export const cellOrderSchema = z.union([
  z.strictObject({ dispatch: z.strictObject({ cpu: z.number(), deadlineMs: z.number() }) }),
  z.strictObject({ kill: z.strictObject({ cause: z.enum(['done', 'cancelled', 'violation']) }) }),
]);
export type CellOrder = z.infer<typeof cellOrderSchema>;

const errorSchema = z.strictObject({
  code: z.enum(errorCodes as [(typeof errorCodes)[number]]),
  message: z.string(),
  hint: z.string().exactOptional(),
}) satisfies z.ZodType<ErrorData>;

const factsSchema = z.strictObject({
  driver: z.string(),
  runtime: z.string(),
  runtimeVersion: z.string(),
  planHash: z.string(),
  properties: z.array(z.string()),
  acceptedRisks: z.array(risk),
}) satisfies z.ZodType<CellFacts>;

const endSchema = z.strictObject({
  cause: z.enum(['done', 'cancelled', 'violation', 'deadline', 'lifetime', 'oom', 'self', 'boot-failed']),
  exit: z.strictObject({ code: z.int().nullable(), signal: z.string().nullable() }),
  pidsLimitHit: z.boolean(),
  peakMemoryBytes: count.nullable(),
  peakPids: count.nullable(),
  teardownMs: z.number().min(0),
  error: errorSchema.exactOptional(),
}) satisfies z.ZodType<CellEnd>;

const reportSchema = z.strictObject({
  driver: z.string(),
  class: z.enum(cellClasses),
  usable: z.boolean(),
  facts: z.array(
    z.strictObject({
      name: z.string(),
      state: z.enum(['in-force', 'missing', 'degraded', 'unknown']),
      detail: z.string(),
      hint: z.string().exactOptional(),
      required: z.boolean(),
      risk: risk.exactOptional(),
    }),
  ),
}) satisfies z.ZodType<HostReport>;

const sweepSchema = z.strictObject({
  removed: z.strictObject({ cells: count, cgroups: count, directories: count, uidClaims: count, processes: count }),
  unknown: count,
}) satisfies z.ZodType<SweepReport>;

const gaugesSchema = z.strictObject({
  cells: count,
  processes: count,
  cgroups: count,
  mounts: count,
  namespaces: count,
  directories: count,
  uidClaims: count,
}) satisfies z.ZodType<CellGauges>;

/** What celld says. `error` is the last line of its connection. */
export const celldAnswerSchema = z.union([
  z.strictObject({ opened: nothing }),
  z.strictObject({ booted: factsSchema }),
  z.strictObject({ dispatched: nothing }),
  z.strictObject({ refused: errorSchema }),
  z.strictObject({ drained: z.strictObject({ stream: z.enum(cellStreams) }) }),
  z.strictObject({ cut: z.strictObject({ stream: z.enum(cellStreams) }) }),
  z.strictObject({ ended: endSchema }),
  z.strictObject({ attached: nothing }),
  z.strictObject({ inspected: reportSchema }),
  z.strictObject({ swept: sweepSchema }),
  z.strictObject({ gauges: gaugesSchema }),
  z.strictObject({ error: errorSchema }),
]);
export type CelldAnswer = z.infer<typeof celldAnswerSchema>;

/** An error as it goes over the socket: no place, no details, and no text without end. */
export function celldError({ code, message, hint }: ErrorData): z.infer<typeof errorSchema> {
  const clip = (text: string): string => text.slice(0, maxTextChars).toWellFormed();
  return { code, message: clip(message), ...(hint === undefined ? {} : { hint: clip(hint) }) };
}

/** A line with its end. */
export const encodeCelldLine = (message: CelldRequest | CellOrder | CelldAnswer): string =>
  `${JSON.stringify(message)}\n`;

/**
 * Read a line, without its end, as one of a schema. A text is taken only as JSON.stringify writes it: so a member that is
 * there twice, of which two readers could believe two different ones, cannot be said at all; nor can blanks, other
 * spellings of the same string, and numbers that a double changes.
 *
 * @throws GloveboxError `CELLD_PROTOCOL`.
 */
export function decodeCelldLine<Message>(line: Uint8Array, maxBytes: number, schema: z.ZodType<Message>): Message {
  const text = decodeText(line);
  const parsed = parseJson(text, { maxBytes, maxDepth });
  if (!parsed.ok) throw protocolError(`A line is not usable JSON: ${parsed.reason}`);
  if (JSON.stringify(parsed.value) !== text) {
    throw protocolError('A line is not as JSON.stringify writes it, such as one with a member twice');
  }
  const checked = schema.safeParse(parsed.value);
  if (checked.success) return checked.data;
  const issue = checked.error.issues[0];
  throw protocolError(`A line is refused at /${issue?.path.join('/') ?? ''}: ${issue?.message ?? ''}`);
}
