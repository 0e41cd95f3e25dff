/** 128 MiB, at 16 MiB each. */
const maxWide = 8;

export const narrowCodings = ['gzip', 'deflate'] as const;
export const wideCodings = ['br', 'zstd'] as const;
export type Coding = (typeof narrowCodings)[number] | (typeof wideCodings)[number];

export const isWide = (coding: Coding): boolean => wideCodings.some((wide) => wide === coding);

/** What an answer may be packed with. */
export type AskedCodings = 'narrow' | 'wide';

/**
 * Decoders of br and zstd in one dialer. Such a decoder may take 16 MiB (br) or 8 MiB (zstd) before it gives its first byte, of
 * a body of forty: 64 answers at once would be a gigabyte. One of gzip takes 32 KiB. So only a few answers at once are asked for
 * in br or zstd, the others in gzip, and what comes in br or zstd all the same is refused.
 */
export interface WideDecoders {
  /** @returns what to ask for, and how to say that the head of the answer is there, or will not come; it may be said twice. */
  ask(): { readonly codings: AskedCodings; settle(): void };
  /** One begins to decode. @returns how to say that it is gone. */
  open(): () => void;
}

export function openWideDecoders(): WideDecoders {
  let held = 0;
  const hold = (): (() => void) => {
    let isHeld = true;
    held++;
    return () => {
      if (isHeld) held--;
      isHeld = false;
    };
  };
  return {
    ask: () => (held < maxWide ? { codings: 'wide', settle: hold() } : { codings: 'narrow', settle() {} }),
    open: hold,
  };
}
