import { homedir } from 'node:os';
import { dirname } from 'node:path';

/** Built from parts, so that this file does not hold what it looks for. */
const publicRegistry = ['registry', 'npmjs', 'org'].join('.');

const sharedPlaces = ['/', '/home', '/root', '/tmp', '/var/tmp', '/srv', '/opt', '/usr/src', homedir()];
const notText = /\.(png|jpe?g|gif|ico|woff2?|wasm|gz|tgz|tar|zip|parquet|db)$/;

/**
 * What ties a tracked file to one machine, one registry or one plan, and says nothing to whoever reads it elsewhere.
 * @returns one line for each thing that is wrong
 */
export function foreignWords(root: string, file: string, text: string): string[] {
  if (notText.test(file) || file.endsWith('package-lock.json') || text.includes('\0')) return [];
  // A clone right under the root, such as /src, has a path that says nothing by itself.
  const machine = dirname(root) === '/' ? [] : [root, dirname(root)].filter((path) => !sharedPlaces.includes(path));
  const found = (pattern: RegExp, what: string) =>
    [...text.matchAll(pattern)].map(
      (match) => `${file}:${text.slice(0, match.index).split('\n').length}: ${what}: ${match[0].trim()}`,
    );
  return [
    ...machine.flatMap((path) =>
      found(new RegExp(`(?<![\\w.*}\\]-])${RegExp.escape(path)}/\\S*`, 'g'), 'a path of this machine'),
    ),
    ...found(new RegExp(RegExp.escape(publicRegistry), 'g'), 'the host of a package registry; use the configured one'),
    ...found(
      new RegExp(`\\b${['DES', 'IGN'].join('')}\\.md\\b|\\b${['STY', 'LE'].join('')}\\.md\\b`, 'g'),
      'a document that is not in this repository',
    ),
    ...found(/\b(?:issue|ticket) #?\d+\b/gi, 'a ticket number'),
    ...found(/(?<=(?:\/\/|\*|#|['"`(])\s*)[A-Z]\d{2}(?=\s*[:)\]·,])/g, 'a plan code'),
    ...found(new RegExp(`\\b(?:${['TO', 'DO'].join('')}|${['FIX', 'ME'].join('')})\\b`, 'g'), 'work that is not done'),
  ];
}
