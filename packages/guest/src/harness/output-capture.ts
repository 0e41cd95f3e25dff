import type { GuestLog } from '@glovebox/contract';
import { apply, defineProperty, sliceText, typedArrayName } from './primordials.ts';

const loadBuiltin = process.getBuiltinModule.bind(process);

type Level = GuestLog['level'];
type Sink = (source: GuestLog['source'], level: Level, message: string) => void;

/** Every method of `console` that writes, with the level its lines get. */
const consoleLevels: { readonly [method: string]: Level } = {
  debug: 'debug',
  trace: 'debug',
  log: 'info',
  info: 'info',
  dir: 'info',
  dirxml: 'info',
  table: 'info',
  group: 'info',
  groupCollapsed: 'info',
  groupEnd: 'info',
  count: 'info',
  countReset: 'info',
  time: 'info',
  timeLog: 'info',
  timeEnd: 'info',
  warn: 'warn',
  error: 'error',
  assert: 'error',
};

/** Longest line of `process.stdout` that is kept together; a line without an end must not grow for ever. */
const maxLineLength = 16 * 1024;

/**
 * Make `console`, `process.stdout` and `process.stderr` end in the log of the run. Raw writes to fds 1 and 2 are pipes
 * that the host reads by itself.
 *
 * `console` does not go through `process.stdout`, so a node that replaces `process.stdout.write` loses only its own lines.
 *
 * @returns a function that passes on what was written without a line break at its end.
 */
export function captureOutput(sink: Sink): () => void {
  captureConsole(sink);
  const stdout = captureStream('stdout', 1, 'info', sink);
  const stderr = captureStream('stderr', 2, 'warn', sink);
  return () => {
    stdout();
    stderr();
  };
}

function captureConsole(sink: Sink): void {
  const { Console } = console;
  let level: Level = 'info';
  let formatter: Console | undefined;
  const write = (text: string): void =>
    sink('console', level, text[text.length - 1] === '\n' ? sliceText(text, 0, -1) : text);
  const makeFormatter = (): Console => {
    const stream = { write } as unknown as NodeJS.WritableStream;
    return new Console({ stdout: stream, stderr: stream, ignoreErrors: false });
  };
  const methods = console as unknown as Record<string, (...args: unknown[]) => unknown>;
  for (const [method, ownLevel] of Object.entries(consoleLevels)) {
    const captured = (...args: unknown[]): unknown => {
      formatter ??= makeFormatter();
      const outer = level;
      level = ownLevel;
      try {
        return apply((formatter as unknown as typeof methods)[method] as () => unknown, formatter, args);
      } finally {
        level = outer;
      }
    };
    defineProperty(captured, 'name', { value: method });
    methods[method] = captured;
  }
}

/** A stream in place of `process.stdout` or `process.stderr`, made when somebody first asks for it. */
function captureStream(name: 'stdout' | 'stderr', fd: number, level: Level, sink: Sink): () => void {
  let decode: ((chunk: Buffer) => string) | undefined;
  let line = '';
  const take = (chunk: unknown): void => {
    if (typeof chunk !== 'string') {
      const { StringDecoder } = loadBuiltin('node:string_decoder');
      const decoder = new StringDecoder('utf8');
      decode ??= (bytes) => decoder.write(bytes);
    }
    const text = typeof chunk === 'string' ? chunk : (decode as (chunk: Buffer) => string)(chunk as Buffer);
    let start = 0;
    for (let i = 0; i < text.length; i++) {
      if (text[i] !== '\n' && line.length + i - start < maxLineLength) continue;
      const end = text[i] === '\n' ? i : i + 1;
      const whole = line + sliceText(text, start, end);
      line = '';
      start = i + 1;
      sink(name, level, whole[whole.length - 1] === '\r' ? sliceText(whole, 0, -1) : whole);
    }
    line += sliceText(text, start);
  };
  const make = (): NodeJS.WriteStream => {
    const { Writable } = loadBuiltin('node:stream');
    const stream = new Writable({
      decodeStrings: false,
      emitClose: false,
      write: (chunk: unknown, encoding: string, done: () => void) => {
        const isText = typeof chunk === 'string' || typedArrayName(chunk) === 'Uint8Array';
        if (isText)
          take(typeof chunk === 'string' && !isUtf8(encoding) ? Buffer.from(chunk, encoding as BufferEncoding) : chunk);
        done();
      },
    });
    return Object.assign(stream, { fd, _type: 'pipe' }) as unknown as NodeJS.WriteStream;
  };
  let stream: NodeJS.WriteStream | undefined;
  defineProperty(process, name, {
    configurable: true,
    enumerable: true,
    get: () => (stream ??= make()),
    set: (replaced: NodeJS.WriteStream) => {
      stream = replaced;
    },
  });
  return () => {
    if (line === '') return;
    const rest = line;
    line = '';
    sink(name, level, rest);
  };
}

const isUtf8 = (encoding: string): boolean => encoding === 'utf8' || encoding === 'utf-8';
