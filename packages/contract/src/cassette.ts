/**
 * Of the file of a cassette: bytes, as of any file of a package, and levels of nesting. What is in it is said by
 * `readCassette` of @glovebox/sdk/cassette, which authors' tests use too.
 */
export const cassetteFileLimits = { maxBytes: 2 * 1024 * 1024, maxDepth: 8 } as const;

/** Name of a cassette; its file in a package is `fixtures/<name>.cassette.json`. */
export const cassetteName = /^[A-Za-z0-9_][A-Za-z0-9._-]{0,99}$/;

/** @returns the path in the package. */
export const cassettePath = (name: string): string => `fixtures/${name}.cassette.json`;
