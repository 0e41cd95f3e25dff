import { decodeFully, decodeOnce } from './target-path.ts';

/** In place of a segment of a pattern: any one that is not empty. */
export const oneSegment: unique symbol = Symbol('one segment');
export type Token = string | typeof oneSegment;

/** A path, cut at its separators; `/` is one empty segment. */
export type Segments = readonly string[];

export interface PatternReading {
  readonly tokens: readonly Token[];
  /** Whether more segments may follow, or none. */
  readonly open: boolean;
}

/**
 * What servers find in a path: escapes as they are, decoded once, or until there are none; all of it, or, by those who look for
 * the query in what they have decoded, as far as the first `?` or `#`.
 */
const decodings = ['raw', 'once', 'decoded', 'once-cut', 'decoded-cut'] as const;
type Decoding = (typeof decodings)[number];

/** The ways in which servers read a path: each of those with empty segments kept, or merged. */
export type Way = Decoding | `${Decoding}-merged`;
export const ways: readonly Way[] = decodings.flatMap((decoding): Way[] => [decoding, `${decoding}-merged`]);

/** Each way's reading of one path. A path that all read alike has the first alone. */
export type PathReadings = readonly { readonly way: Way; readonly segments: Segments }[];

/**
 * Read a pattern in the way in which a path is read: `*` for one segment that is not empty, `**` at the end for all that
 * follows, or nothing; all else stands for itself, a star that is part of a segment too. Case counts. A literal is compared
 * in normal form: escapes of what needs none are decoded, hexadecimal is upper-case, and `%2A` is a star that is no wildcard.
 */
function readPattern(pattern: string, way: Way): PatternReading {
  const written = pattern.split('/').slice(1);
  const isOpen = written.at(-1) === '**';
  const tokens: Token[] = [];
  for (const part of isOpen ? written.slice(0, -1) : written) {
    if (part === '*') tokens.push(oneSegment);
    else {
      const { segments, isCut } = read(part, way);
      tokens.push(...segments);
      if (isCut) return patternReading(tokens, false, way);
    }
  }
  return patternReading(tokens, isOpen, way);
}

const patternReading = (tokens: Token[], open: boolean, way: Way): PatternReading => ({
  tokens: isMerged(way) ? merged(tokens, open) : tokens,
  open,
});

/** A pattern, read in each way when that is first asked for: most patterns are read in one way alone. */
export class PathPattern {
  readonly #pattern: string;
  readonly #readings = new Map<Way, PatternReading>();

  constructor(pattern: string) {
    this.#pattern = pattern;
  }

  in(way: Way): PatternReading {
    let reading = this.#readings.get(way);
    if (reading === undefined) {
      reading = readPattern(this.#pattern, way);
      this.#readings.set(way, reading);
    }
    return reading;
  }
}

/** @param path of a target: begins with `/`, and is not ambiguous. */
export function readPath(path: string): PathReadings {
  const both = (decoding: Decoding): PathReadings => {
    const segments = read(path, decoding).segments.slice(1);
    return [
      { way: decoding, segments },
      { way: `${decoding}-merged`, segments: merged(segments, false) },
    ];
  };
  if (path.includes('%')) {
    const hasEnd = read(path, 'decoded-cut').isCut;
    return decodings.filter((decoding) => hasEnd || !isCutting(decoding)).flatMap(both);
  }
  return path.includes('//') ? both('raw') : both('raw').slice(0, 1);
}

const isMerged = (way: Way): boolean => way.endsWith('-merged');
const isCutting = (way: Way): boolean => way.includes('-cut');

/** Text cut at its separators, and before its end where that way of reading sees one. */
function read(text: string, way: Way): { readonly segments: string[]; readonly isCut: boolean } {
  if (way.startsWith('raw')) return { segments: normalised(text).split('/'), isCut: false };
  const decoded = way.startsWith('once') ? decodeOnce(text) : decodeFully(text).normalize('NFKC');
  const end = isCutting(way) ? decoded.search(/[?#]/) : -1;
  return { segments: (end === -1 ? decoded : decoded.slice(0, end)).split(/[/\\]/), isCut: end !== -1 };
}

/** Without empty segments, but for one at the end: `/a/` is not `/a`. Where more may follow, there is no end. */
function merged<T>(segments: readonly T[], open: boolean): T[] {
  return segments.filter((segment, index) => segment !== '' || (!open && index === segments.length - 1));
}

/**
 * One form for all spellings of a path, or of a segment, that mean the same (RFC 3986, section 6.2.2). What may not stand in a path is
 * escaped, as the URL parser escapes it in a request: an author's pattern may have it as it is.
 */
function normalised(text: string): string {
  if (/^[A-Za-z0-9._~!$&'()+,;=:@/-]*$/.test(text)) return text;
  return text
    .replace(/%(?![0-9a-fA-F]{2})|[^\x21-\x7e]+|["#<>?^`{}]/gu, (illegal) => encodeURIComponent(illegal.toWellFormed()))
    .replace(/%([0-9a-fA-F]{2})/g, (written, hex: string) => {
      const character = String.fromCharCode(Number.parseInt(hex, 16));
      return /[A-Za-z0-9._~-]/.test(character) ? character : written.toUpperCase();
    })
    .replaceAll('*', '%2A');
}
