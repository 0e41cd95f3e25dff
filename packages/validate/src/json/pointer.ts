/** RFC 6901. */
export type Segment = string | number;

export const escapeSegment = (segment: Segment): string =>
  typeof segment === 'number' ? String(segment) : segment.replaceAll('~', '~0').replaceAll('/', '~1');

export function toPointer(path: readonly Segment[]): string {
  let pointer = '';
  for (const segment of path) pointer += `/${escapeSegment(segment)}`;
  return pointer;
}

/** Undefined when the text is not a pointer. */
export function fromPointer(pointer: string): string[] | undefined {
  if (pointer === '') return [];
  if (!pointer.startsWith('/') || /~(?![01])/.test(pointer)) return undefined;
  return pointer
    .slice(1)
    .split('/')
    .map((segment) => segment.replaceAll('~1', '/').replaceAll('~0', '~'));
}
