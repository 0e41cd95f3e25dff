import type { Findings } from '../findings.ts';
import { locate } from '../json/place.ts';
import { toPointer } from '../json/pointer.ts';
import { decodeUtf8 } from '../json/read.ts';
import { slips } from '../suggest.ts';
import { type PackageJson, packageJsonFile } from './package-json.ts';

/** Packages that most nodes could have a use for, and whose names are therefore taken on purpose with a letter changed. */
const wellKnown = [
  ...['ajv', 'async', 'axios', 'bluebird', 'chalk', 'cheerio', 'commander', 'csv-parse', 'csv-stringify', 'date-fns'],
  ...['dayjs', 'debug', 'dotenv', 'express', 'fast-xml-parser', 'glob', 'graphql', 'handlebars', 'ioredis', 'jose'],
  ...['js-yaml', 'jsonwebtoken', 'jszip', 'lodash', 'lodash-es', 'luxon', 'marked', 'minimist', 'moment', 'mongodb'],
  ...['mustache', 'mysql2', 'nanoid', 'node-fetch', 'nodemailer', 'papaparse', 'playwright', 'puppeteer', 'react'],
  ...[
    'request',
    'rxjs',
    'semver',
    'sharp',
    'turndown',
    'typescript',
    'underscore',
    'undici',
    'uuid',
    'validator',
    'vitest',
  ],
  ...['winston', 'xml2js', 'yaml', 'zod'],
];
/** With what is a package in its own right, although one letter away. */
const known: ReadonlySet<string> = new Set([...wellKnown, 'preact']);

/** Tell of dependencies whose name is one slip away from that of a well-known package. */
export function tellLookAlikes(files: ReadonlyMap<string, Uint8Array>, pkg: PackageJson, findings: Findings): void {
  const found = (['dependencies', 'optionalDependencies', 'devDependencies'] as const).flatMap((section) =>
    [...pkg[section].keys()].flatMap((name) => {
      const like = lookAlike(name);
      return like === undefined
        ? []
        : [{ name, like, place: { file: packageJsonFile, path: toPointer([section, name]) } }];
    }),
  );
  const bytes = files.get(packageJsonFile);
  const text = found.length === 0 || bytes === undefined ? undefined : decodeUtf8(bytes);
  if (text === undefined) return;
  locate(
    text,
    found.map(({ place }) => ({ place, at: 'key' as const })),
  );
  for (const { name, like, place } of found) {
    const message = `${name} is one letter away from the well-known package ${like}`;
    findings.notice('PACKAGE_JSON_INVALID', message, place, 'Nothing to do, if it is the one that is meant.');
  }
}

function lookAlike(name: string): string | undefined {
  if (name.length < 4 || known.has(name) || name.startsWith('@')) return undefined;
  const plain = name.replaceAll('0', 'o').replaceAll('1', 'l');
  const near = wellKnown.filter((candidate) => candidate.length >= 4 && Math.abs(candidate.length - name.length) <= 1);
  return near.find((candidate) => plain === candidate || slips(name, candidate) === 1);
}
