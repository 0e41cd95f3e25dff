/** RFC 6901. */
export type Segment = string | number;

export const escapeSegment = (segment: Segment): string =>
  typeof segment === 'number' ? String(segment) : segment.replaceAll('~', '~0').replaceAll('/', '~1');

export function toPointer(path: readonly Segment[]): string {
  let pointer = '';
  for (const segment of path) pointer += `/${escapeSegment(segment)}`;
  return pointer;
}

/**
 * The pointer to the place at `path`, or to its nearest ancestor whose pointer has at most `max` characters: a name may have
 * megabytes, and a pointer that was cut within it would point nowhere.
 */
export function toShortPointer(path: readonly Segment[], max: number): string {
  let pointer = '';
  for (const segment of path) {
    if (typeof segment === 'string' && segment.length > max) break;
    const next = `${pointer}/${escapeSegment(segment)}`;
    if (next.length > max) break;
    pointer = next;
  }
  return pointer;
}

/** The same for a pointer that is there already. */
export const shortPointer = (pointer: string, max: number): string =>
  pointer.length <= max ? pointer : pointer.slice(0, pointer.lastIndexOf('/', max));

/** Undefined when the text is not a pointer. */
export function fromPointer(pointer: string): string[] | undefined {
  if (pointer === '') return [];
  if (!pointer.startsWith('/') || /~(?![01])/.test(pointer)) return undefined;
  return pointer
    .slice(1)
    .split('/')
    .map((segment) => segment.replaceAll('~1', '/').replaceAll('~0', '~'));
}
