/** A JSON value. Arrays and objects are plain; there is no undefined in them. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

export interface JsonLimits {
  /** UTF-8 bytes of the text. */
  maxBytes: number;
  /** Levels of arrays and objects; 1 is a flat one. */
  maxDepth: number;
}

/**
 * How deep a JSON text nests, read in one pass without recursion, so that a hostile text cannot exhaust the stack.
 * Says nothing about whether the text is valid.
 */
export function jsonTextDepth(text: string): number {
  let depth = 0;
  let deepest = 0;
  let inString = false;
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (inString) {
      if (c === 0x5c) i++;
      else if (c === 0x22) inString = false;
    } else if (c === 0x22) inString = true;
    else if (c === 0x5b || c === 0x7b) deepest = Math.max(deepest, ++depth);
    else if (c === 0x5d || c === 0x7d) depth--;
  }
  return deepest;
}

/**
 * Parse JSON within limits.
 *
 * `__proto__` stays an own key, as data. Numbers that a double cannot hold exactly and that are written as integers are
 * refused rather than silently changed (`unsafe-integer`).
 *
 * @returns the value, or why not.
 */
export function parseJson(
  text: string,
  limits: JsonLimits,
):
  | { ok: true; value: Json }
  | { ok: false; reason: 'too-large' | 'too-deep' | 'unsafe-integer' | 'syntax'; detail: string } {
  if (Buffer.byteLength(text) > limits.maxBytes) {
    return { ok: false, reason: 'too-large', detail: `over ${limits.maxBytes} bytes` };
  }
  if (jsonTextDepth(text) > limits.maxDepth) {
    return { ok: false, reason: 'too-deep', detail: `nested deeper than ${limits.maxDepth}` };
  }
  let unsafe: string | undefined;
  try {
    const value = JSON.parse(text, (_key, parsed: Json, context?: { source?: string }) => {
      if (typeof parsed === 'number' && !Number.isSafeInteger(parsed)) {
        const source = context?.source;
        // The overflow first: a literal of a million digits must not be handed to BigInt.
        if (!Number.isFinite(parsed)) unsafe ??= source ?? String(parsed);
        else if (source !== undefined && losesDigits(source, parsed)) unsafe ??= source;
      }
      return parsed;
    }) as Json;
    if (unsafe !== undefined) {
      return { ok: false, reason: 'unsafe-integer', detail: `${unsafe.slice(0, 40)} does not fit a double exactly` };
    }
    return { ok: true, value };
  } catch (error) {
    return { ok: false, reason: 'syntax', detail: error instanceof Error ? error.message : String(error) };
  }
}

/** Whether an integer literal is neither the double's exact value nor the text that JavaScript itself writes for it. */
function losesDigits(source: string, parsed: number): boolean {
  return /^-?\d+$/.test(source) && JSON.stringify(parsed) !== source && BigInt(source) !== BigInt(parsed);
}
