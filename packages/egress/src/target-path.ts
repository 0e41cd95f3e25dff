/** Rounds of decoding that a path is looked at; one that still changes after them is refused. */
const maxRounds = 8;

/**
 * Whether servers could read a path in ways of which one leaves it: some decode twice, some take `\` for `/`, some drop
 * `;params` or blanks at the end of a segment, some fold full-width characters. Whatever any of these reads as `.` or `..`,
 * or as a control character, makes a path ambiguous, and so does an escape that is none or is not UTF-8 (`%c0%ae` is a dot
 * to a lax decoder). A separator that only the third round brings to light is refused too: rules are matched with what is
 * there before, after one round, and in the end.
 *
 * @param path as it was written, before a URL parser took dot segments out of it.
 */
export function isAmbiguousPath(path: string): boolean {
  if (/%(?![0-9a-fA-F]{2})/.test(path)) return true;
  let text = path;
  for (let round = 0; round < maxRounds; round++) {
    if (hasDotSegment(text) || hasControl(text)) return true;
    const next = decodeEscapes(text);
    if (next === undefined) return true;
    if (next === text) return false;
    if (round > 1 && separators(next) !== separators(text)) return true;
    text = next;
  }
  return true;
}

/**
 * Decode until nothing changes, at most as often as `isAmbiguousPath` does; what is not UTF-8 stays as it is. For paths that
 * are not ambiguous.
 */
export function decodeFully(path: string): string {
  let text = path;
  for (let round = 0; round < maxRounds; round++) {
    const next = decodeEscapes(text);
    if (next === undefined || next === text) return text;
    text = next;
  }
  return text;
}

/** One round of decoding, or the text itself where an escape is not UTF-8. */
export function decodeOnce(text: string): string {
  return decodeEscapes(text) ?? text;
}

const separators = (text: string): number => text.split(/[/\\]/).length;

function hasDotSegment(text: string): boolean {
  // Only what is not ASCII folds to something else.
  return dotSegment.test(isAscii(text) ? text : text.normalize('NFKC'));
}

/**
 * A segment that is one dot or two, blanks and params aside, or that has params alone: whoever drops those reads it as empty,
 * and merges it with its neighbours.
 */
const dotSegment = /(?:^|[/\\])(?:;|\s*\.{1,2}\s*(?:[;/\\]|$))/;

function hasControl(text: string): boolean {
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code < 0x20 || code === 0x7f) return true;
  }
  return false;
}

function isAscii(text: string): boolean {
  for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) > 0x7f) return false;
  return true;
}

/** One round, in which a per cent sign that begins no escape stays. @returns undefined where an escape is not UTF-8. */
function decodeEscapes(text: string): string | undefined {
  if (!text.includes('%')) return text;
  try {
    return decodeURIComponent(text.replace(/%(?![0-9a-fA-F]{2})/g, '%25'));
  } catch {
    return undefined;
  }
}
