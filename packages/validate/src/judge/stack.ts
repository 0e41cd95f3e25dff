import { SourceMap } from 'node:module';

/** How the file name of a bundle ends in a stack. */
const bundleName = 'bundle.mjs';
const maxLines = 100;
const maxLineLength = 1000;
const maxNameLength = 200;

/**
 * Replace the positions of a bundle in a stack by those of the files that it was made from: `src/index.ts:12:5`. Other
 * lines stay as they are, as does a position that the map does not know. Stack and map may both be hostile; what is
 * looked at is bounded, and a name from the map is cut and freed of control characters.
 */
export function mapStack(stack: string, sourceMapText: string): string {
  const map = new SourceMap(JSON.parse(sourceMapText));
  const lines = stack.split('\n');
  return lines
    .map((line, index) => (index < maxLines && line.length <= maxLineLength ? mapLine(line, map) : line))
    .join('\n');
}

function mapLine(line: string, map: SourceMap): string {
  const at = line.lastIndexOf(`${bundleName}:`);
  if (at === -1) return line;
  const position = /^:(\d{1,9}):(\d{1,9})/.exec(line.slice(at + bundleName.length));
  if (position === null) return line;
  const origin = map.findOrigin(Number(position[1]), Number(position[2]));
  if (!('fileName' in origin) || typeof origin.fileName !== 'string') return line;
  const end = at + bundleName.length + position[0].length;
  const start = Math.max(line.lastIndexOf('(', at), line.lastIndexOf(' ', at)) + 1;
  return `${line.slice(0, start)}${sourceName(origin.fileName)}:${origin.lineNumber}:${origin.columnNumber}${line.slice(end)}`;
}

/** A path in the package: sources are named relative to where the bundle was made. */
function sourceName(name: string): string {
  const segments = name.split('/').filter((segment) => segment !== '' && segment !== '.' && segment !== '..');
  return segments
    .join('/')
    .replace(/[\p{Cc}\p{Z}()]/gu, '_')
    .slice(0, maxNameLength);
}
