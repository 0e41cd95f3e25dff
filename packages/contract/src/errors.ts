import { type ErrorCode, errorCatalogue } from './error-catalogue.ts';
import type { Json } from './json.ts';

export { errorCatalogue };

/** Where a problem is. `path` is a JSON Pointer in `file` (or in the named input); lines and columns count from 1. */
export interface Place {
  file?: string;
  path?: string;
  line?: number;
  column?: number;
}

/** An error as it crosses a process, a channel or the API. Never holds a secret, a token or a stack. */
export interface ErrorData {
  code: ErrorCode;
  message: string;
  hint?: string;
  place?: Place;
  /** Further facts for programs, small and free of secrets. */
  details?: Json;
}

export interface GloveboxErrorOptions {
  message?: string;
  hint?: string;
  place?: Place;
  details?: Json;
  cause?: unknown;
}

/**
 * The one error class. What to do about it is a property of the code (see the catalogue), not of a subclass.
 *
 * The message names the offending thing; where it is left out, the catalogue's summary stands in.
 */
export class GloveboxError extends Error {
  readonly code: ErrorCode;
  readonly place: Place | undefined;
  readonly hint: string | undefined;
  readonly details: Json | undefined;

  constructor(code: ErrorCode, options: GloveboxErrorOptions = {}) {
    const entry = errorCatalogue[code];
    super(options.message ?? entry.summary, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'GloveboxError';
    this.code = code;
    this.place = options.place;
    this.hint = options.hint ?? entry.hint;
    this.details = options.details;
  }

  toData(): ErrorData {
    return {
      code: this.code,
      message: this.message,
      ...(this.hint === undefined ? {} : { hint: this.hint }),
      ...(this.place === undefined ? {} : { place: this.place }),
      ...(this.details === undefined ? {} : { details: this.details }),
    };
  }

  static fromData(data: ErrorData): GloveboxError {
    return new GloveboxError(data.code, data);
  }

  static is(value: unknown, code?: ErrorCode): value is GloveboxError {
    return value instanceof GloveboxError && (code === undefined || value.code === code);
  }
}

/**
 * Anything thrown, as data. What a full or closed disk says through any library is told by its own code; what is else no
 * GloveboxError is a defect of ours: `INTERNAL`, with its message.
 */
export function toErrorData(thrown: unknown): ErrorData {
  if (thrown instanceof GloveboxError) return thrown.toData();
  const storage = storageError(thrown);
  if (storage !== undefined) return storage.toData();
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  return { code: 'INTERNAL', message, hint: errorCatalogue.INTERNAL.hint };
}

function storageError(thrown: unknown): GloveboxError | undefined {
  if (!(thrown instanceof Error)) return undefined;
  const { code, path } = thrown as { code?: unknown; path?: unknown };
  const place = typeof path === 'string' ? { place: { file: path } } : {};
  switch (code) {
    case 'ENOSPC':
    case 'EDQUOT':
      return new GloveboxError('DISK_FULL', { cause: thrown, ...place });
    case 'EROFS':
    case 'EACCES':
    case 'EPERM':
      return new GloveboxError('DATA_DIR_UNUSABLE', { message: thrown.message, cause: thrown, ...place });
    default:
      return undefined;
  }
}
