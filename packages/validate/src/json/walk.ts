/** What a walk over a JSON text meets, in order. Offsets are UTF-16 code units from the start of the text. */
export interface JsonEvents {
  open?(kind: 'object' | 'array', offset: number): void;
  close?(): void;
  /** A member's name, unescaped, and where it stands with its quotes. */
  key?(name: string, start: number, end: number): void;
  /** A string, number, true, false or null. */
  scalar?(start: number, end: number): void;
}

export interface JsonFault {
  reason: 'syntax' | 'too-deep';
  offset: number;
  message: string;
}

const numberToken = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const literals = ['true', 'false', 'null'] as const;

/**
 * Read a JSON text (RFC 8259) once, without recursion and without building a value, so that neither depth nor length can
 * hurt. Accepts exactly what `JSON.parse` accepts, up to `maxDepth` levels of arrays and objects.
 *
 * @returns the first fault; undefined when there is none.
 */
export function walkJson(text: string, maxDepth: number, events: JsonEvents): JsonFault | undefined {
  const objects: boolean[] = [];
  let at = skipSpace(text, 0);
  /** What may come next: a value, the first thing in a container, a member name, or what follows a value. */
  let next: 'value' | 'first' | 'name' | 'after' = 'value';

  while (true) {
    const c = text.charCodeAt(at);
    if (next === 'after') {
      if (objects.length === 0) return at === text.length ? undefined : unexpected(text, at, 'the end');
      const inObject = objects.at(-1) === true;
      if (c === comma) next = inObject ? 'name' : 'value';
      else if (c === (inObject ? closeBrace : closeBracket)) {
        objects.pop();
        events.close?.();
      } else return unexpected(text, at, inObject ? '"," or "}"' : '"," or "]"');
      at = skipSpace(text, at + 1);
      continue;
    }
    if (next === 'first' && c === (objects.at(-1) ? closeBrace : closeBracket)) {
      objects.pop();
      events.close?.();
      next = 'after';
      at = skipSpace(text, at + 1);
      continue;
    }
    if (next === 'name' || (next === 'first' && objects.at(-1))) {
      if (c !== quote) return unexpected(text, at, 'a member name in double quotes');
      const end = stringEnd(text, at);
      if (typeof end !== 'number') return end;
      events.key?.(unquote(text, at, end), at, end);
      at = skipSpace(text, end);
      if (text.charCodeAt(at) !== colon) return unexpected(text, at, '":"');
      at = skipSpace(text, at + 1);
      next = 'value';
      continue;
    }
    if (c === openBrace || c === openBracket) {
      if (objects.length === maxDepth) {
        return { reason: 'too-deep', offset: at, message: `nests deeper than ${maxDepth} levels` };
      }
      objects.push(c === openBrace);
      events.open?.(c === openBrace ? 'object' : 'array', at);
      next = 'first';
      at = skipSpace(text, at + 1);
      continue;
    }
    const end = scalarEnd(text, at, c);
    if (typeof end !== 'number') return end;
    events.scalar?.(at, end);
    next = 'after';
    at = skipSpace(text, end);
  }
}

const quote = 0x22;
const comma = 0x2c;
const colon = 0x3a;
const openBracket = 0x5b;
const backslash = 0x5c;
const closeBracket = 0x5d;
const openBrace = 0x7b;
const closeBrace = 0x7d;

function skipSpace(text: string, from: number): number {
  let at = from;
  while (true) {
    const c = text.charCodeAt(at);
    if (c !== 0x20 && c !== 0x0a && c !== 0x0d && c !== 0x09) return at;
    at++;
  }
}

function scalarEnd(text: string, at: number, c: number): number | JsonFault {
  if (c === quote) return stringEnd(text, at);
  if (c === 0x2d || (c >= 0x30 && c <= 0x39)) {
    numberToken.lastIndex = at;
    const match = numberToken.exec(text);
    if (match === null) return unexpected(text, at + 1, 'a digit');
    return at + match[0].length;
  }
  for (const literal of literals) if (text.startsWith(literal, at)) return at + literal.length;
  return unexpected(text, at, 'a value');
}

/** The offset behind the closing quote of the string that opens at `start`. */
function stringEnd(text: string, start: number): number | JsonFault {
  let at = start + 1;
  while (at < text.length) {
    const c = text.charCodeAt(at);
    if (c === quote) return at + 1;
    if (c < 0x20) return { reason: 'syntax', offset: at, message: 'a control character must be escaped in a string' };
    if (c === backslash) {
      const escaped = text[at + 1] ?? '';
      if (escaped === 'u') {
        if (!/^[0-9a-fA-F]{4}$/.test(text.slice(at + 2, at + 6))) {
          return { reason: 'syntax', offset: at, message: '"\\u" must be followed by four hexadecimal digits' };
        }
        at += 6;
        continue;
      }
      if (escaped === '' || !'"\\/bfnrt'.includes(escaped)) {
        return { reason: 'syntax', offset: at, message: 'not an escape of JSON' };
      }
      at++;
    }
    at++;
  }
  return { reason: 'syntax', offset: start, message: 'the string has no end' };
}

function unquote(text: string, start: number, end: number): string {
  const raw = text.slice(start + 1, end - 1);
  return raw.includes('\\') ? (JSON.parse(text.slice(start, end)) as string) : raw;
}

function unexpected(text: string, at: number, wanted: string): JsonFault {
  const found =
    at >= text.length ? 'the text ends' : `found ${JSON.stringify(String.fromCodePoint(text.codePointAt(at) ?? 0))}`;
  return { reason: 'syntax', offset: at, message: `expected ${wanted}, but ${found}` };
}
