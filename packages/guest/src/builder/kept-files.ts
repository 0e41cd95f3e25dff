/**
 * Whether the bundler has a use for a file of a dependency. Declarations and documents are half of what packages bring.
 * Source maps must not be there: a package could claim by them that its code is the author's.
 */
export function mayBeBundled(path: string): boolean {
  return !/\.(?:d\.[cm]?ts|map|md|markdown|flow)$/i.test(path);
}

/** Whether the type checker has one: sources, declarations, and what says where they are. */
export function mayBeTypeChecked(path: string): boolean {
  return /\.(?:[cm]?[jt]sx?|json)$/i.test(path);
}

/** Tests read what they like. */
export function mayBeTested(): boolean {
  return true;
}
