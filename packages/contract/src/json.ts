/** A JSON value. Arrays and objects are plain; there is no undefined in them. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

export interface JsonLimits {
  /** UTF-8 bytes of the text. */
  maxBytes: number;
  /** Levels of arrays and objects; 1 is a flat one. */
  maxDepth: number;
}

/** Why a JSON text is refused before it is parsed. */
export interface JsonTextFault {
  reason: 'too-large' | 'too-deep' | 'unsafe-integer';
  detail: string;
}

/**
 * What is wrong with a JSON text whatever it means: its size, its depth, and numbers that a double cannot hold.
 *
 * One pass without recursion that builds nothing: a hostile text can exhaust neither stack nor memory, and costs some
 * nanoseconds a character. Says nothing about whether the text is valid.
 */
export function jsonTextFault(text: string, limits: JsonLimits): JsonTextFault | undefined {
  if (Buffer.byteLength(text) > limits.maxBytes) {
    return { reason: 'too-large', detail: `over ${limits.maxBytes} bytes` };
  }
  const { deepest, unsafe } = scanJsonText(text);
  if (deepest > limits.maxDepth) return { reason: 'too-deep', detail: `nested deeper than ${limits.maxDepth}` };
  if (unsafe !== undefined) {
    return { reason: 'unsafe-integer', detail: `${unsafe.slice(0, 40)} does not fit a double exactly` };
  }
  return undefined;
}

/** How deep a JSON text nests. Says nothing about whether the text is valid. */
export function jsonTextDepth(text: string): number {
  return scanJsonText(text).deepest;
}

/** Depth, and the first number that a double cannot hold. */
function scanJsonText(text: string): { deepest: number; unsafe: string | undefined } {
  let depth = 0;
  let deepest = 0;
  let unsafe: string | undefined;
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (c === 0x22) i = stringEnd(text, i);
    else if (c === 0x5b || c === 0x7b) deepest = Math.max(deepest, ++depth);
    else if (c === 0x5d || c === 0x7d) depth--;
    else if (c === 0x2d || (c >= 0x30 && c <= 0x39)) {
      const start = i;
      while (isNumberPart(text.charCodeAt(i + 1))) i++;
      if (unsafe === undefined && isChangedInADouble(text, start, i + 1)) unsafe = text.slice(start, i + 1);
    }
  }
  return { deepest, unsafe };
}

/** The offset of the closing quote, or of the text's end. */
function stringEnd(text: string, start: number): number {
  for (let i = start + 1; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (c === 0x5c) i++;
    else if (c === 0x22) return i;
  }
  return text.length;
}

/** 0-9 + - . e E */
function isNumberPart(c: number): boolean {
  return (c >= 0x30 && c <= 0x39) || c === 0x2b || c === 0x2d || c === 0x2e || c === 0x65 || c === 0x45;
}

/**
 * Parse JSON within limits.
 *
 * `__proto__` stays an own key, as data. Numbers that a double cannot hold exactly and that are written as integers are
 * refused rather than silently changed (`unsafe-integer`).
 *
 * No reviver sees to that: one takes a hundred times as long, and a cell could stall the host's event loop with it.
 *
 * @returns the value, or why not.
 */
export function parseJson(
  text: string,
  limits: JsonLimits,
): { ok: true; value: Json } | { ok: false; reason: JsonTextFault['reason'] | 'syntax'; detail: string } {
  const fault = jsonTextFault(text, limits);
  if (fault !== undefined) return { ok: false, ...fault };
  try {
    return { ok: true, value: JSON.parse(text) as Json };
  } catch (error) {
    return { ok: false, reason: 'syntax', detail: error instanceof Error ? error.message : String(error) };
  }
}

/**
 * Whether a number literal is an integer and neither the double's exact value nor the text that JavaScript itself writes
 * for it, or whether it is beyond all doubles.
 */
function isChangedInADouble(text: string, start: number, end: number): boolean {
  // So short, it is exact, or it has an exponent that could make it infinite.
  if (end - start <= 15 && !hasLongExponent(text, start, end)) return false;
  const source = text.slice(start, end);
  const value = Number(source);
  // The overflow first: a literal of a million digits must not be handed to BigInt. No number at all is a matter of syntax.
  if (!Number.isFinite(value)) return !Number.isNaN(value);
  return (
    !Number.isSafeInteger(value) &&
    /^-?\d+$/.test(source) &&
    JSON.stringify(value) !== source &&
    BigInt(source) !== BigInt(value)
  );
}

/** Three digits or more. */
function hasLongExponent(text: string, start: number, end: number): boolean {
  for (let i = start; i + 3 < end; i++) {
    const c = text.charCodeAt(i);
    if (c === 0x65 || c === 0x45) return true;
  }
  return false;
}
