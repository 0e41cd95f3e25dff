/**
 * The judge's child: reads requests from standard input, answers on standard output, and ends with its input, so it never
 * outlives its parent. It alone compiles the schemas of authors and matches their patterns: whatever they do to it, the
 * parent has a deadline, a memory limit and SIGKILL.
 *
 * Reads and writes block: there is nothing else to do meanwhile, and it starts sooner without streams.
 */
import { readSync, writeSync } from 'node:fs';
import type { Json } from '@glovebox/contract';
import { inspectJson } from '../json/inspect.ts';
import { walkJson } from '../json/walk.ts';
import { compileSchema } from '../schema/compile.ts';
import { evaluateSchema } from '../schema/evaluate.ts';
import { schemaLimits } from '../schema/limits.ts';
import type { SchemaNode } from '../schema/node.ts';
import type { LoadEngine } from '../schema/pattern.ts';
import { type SchemaProblem, TooCostly } from '../schema/problem.ts';
import { encodeFrame, type Frame, lengthBytes, readLengths } from './frames.ts';
import { type Answer, answerLimits, type Request, requestLimits, type ValueName, valueNames } from './protocol.ts';

/** A package name cannot be resolved here: only the sources and the engine's own directory may be read. */
const engineUrl = process.argv[2] ?? '';
const loadEngine: LoadEngine = () => import(engineUrl);

const schemas = new Map<ValueName, SchemaNode>();

for (let frame = readFrame(); frame !== undefined; frame = readFrame()) {
  const { answer, body } = await handle(frame);
  for (const part of encodeFrame(answer, body)) writeFully(part);
}

async function handle({ head, body }: Frame): Promise<{ answer: Answer; body?: Uint8Array }> {
  try {
    const request = JSON.parse(head.toString()) as Request;
    if (request.op === 'load') return { answer: await load(request.sizes, body) };
    if (request.op === 'check') return { answer: check(request.which, body.toString()) };
    const { mapStack } = await import('./stack.ts');
    const stack = body.subarray(0, request.stackBytes).toString();
    const mapped = mapStack(stack, body.subarray(request.stackBytes).toString());
    return { answer: { kind: 'mapped' }, body: Buffer.from(mapped) };
  } catch (error) {
    if (error instanceof TooCostly) return { answer: { kind: 'too-costly', message: error.message } };
    // The stack's end: depth is bounded, so this is a shape that was not foreseen, and costly all the same.
    if (error instanceof RangeError) return { answer: { kind: 'too-costly', message: 'nests too deep' } };
    return { answer: { kind: 'failed', message: String(error).slice(0, 500) } };
  }
}

async function load(sizes: Record<ValueName, number>, body: Buffer): Promise<Answer> {
  const problems: Record<ValueName, SchemaProblem[]> = { input: [], config: [], output: [] };
  let at = 0;
  for (const which of valueNames) {
    const text = body.subarray(at, at + sizes[which]);
    at += sizes[which];
    problems[which] = fitting(await loadOne(which, text));
  }
  return { kind: 'loaded', problems };
}

/** As many as have room in an answer about three schemas: what is hostile in a path is written six times as long. */
function fitting(problems: SchemaProblem[]): SchemaProblem[] {
  let room = answerLimits.headBytes / (valueNames.length + 1);
  return problems.filter((problem) => {
    room -= Buffer.byteLength(JSON.stringify(problem)) + 1;
    return room >= 0;
  });
}

async function loadOne(which: ValueName, bytes: Buffer): Promise<SchemaProblem[]> {
  if (bytes.length > schemaLimits.bytes) {
    return [{ rule: 'SCHEMA_TOO_COSTLY', path: '', message: `is larger than ${schemaLimits.bytes} bytes` }];
  }
  const text = bytes.toString();
  const fault = walkJson(text, schemaLimits.depth, {});
  if (fault !== undefined) return [{ rule: 'SCHEMA_TOO_COSTLY', path: '', message: fault.message }];
  const compiled = await compileSchema(JSON.parse(text) as Json, loadEngine);
  if (!compiled.ok) return compiled.problems;
  schemas.set(which, compiled.root);
  return [];
}

function check(which: ValueName, text: string): Answer {
  const faults = inspectJson(text, schemaLimits.valueDepth);
  if (faults.length > 0) {
    return { kind: 'not-json', faults: faults.map(({ reason, path, message }) => ({ reason, path, message })) };
  }
  const schema = schemas.get(which);
  if (schema === undefined) return { kind: 'failed', message: `the schema of ${which} was not loaded` };
  const steps = schemaLimits.steps + text.length * schemaLimits.stepsPerByte;
  return { kind: 'judged', misfits: evaluateSchema(schema, JSON.parse(text) as Json, steps) };
}

function readFrame(): Frame | undefined {
  const lengths = readFully(lengthBytes);
  const sizes = lengths === undefined ? undefined : readLengths(lengths, requestLimits);
  if (sizes === undefined) return undefined;
  const head = readFully(sizes.head);
  const body = readFully(sizes.body);
  return head === undefined || body === undefined ? undefined : { head, body };
}

/** Undefined at the end of input. */
function readFully(size: number): Buffer | undefined {
  const bytes = Buffer.alloc(size);
  let filled = 0;
  while (filled < size) {
    const count = readSync(0, bytes, filled, size - filled, null);
    if (count === 0) return undefined;
    filled += count;
  }
  return bytes;
}

function writeFully(bytes: Uint8Array): void {
  let written = 0;
  while (written < bytes.length) written += writeSync(1, bytes, written, bytes.length - written);
}
