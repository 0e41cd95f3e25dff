import { readFileSync } from 'node:fs';
import { isAbsolute } from 'node:path';
import { parseArgs } from 'node:util';
import {
  type AcceptableRisk,
  acceptableRisks,
  GloveboxError,
  parseDuration,
  parseSize,
  planCeilings,
} from '@glovebox/contract';

export interface Settings {
  socketPath: string;
  /** Whose members may use the socket, beside the user of celld. */
  groupId: number | undefined;
  driver: 'oci' | 'docker';
  runDirectory: string;
  /** Holds a directory for each image, named by its digest, with `rootfs` in it. */
  imagesDirectory: string;
  claimsDirectory: string | undefined;
  /** Path of the engine's socket. */
  engine: string;
  runtime: string | undefined;
  acceptedRisks: AcceptableRisk[];
  maxCells: number;
  maxMemoryBytes: number;
  sweepEveryMs: number;
}

export const help = `Usage: celld --socket PATH --run-dir DIR --images DIR [options]

Makes cells for the processes that may use its socket, and ends them. See docs/celld.md.

  --socket PATH       where to listen; its directory may be written by the user of celld alone
  --group GROUP       name or number of the group that may use the socket too
  --run-dir DIR       celld's own directory, mode 0700; made where it is not there
  --images DIR        images, unpacked, each under its digest; nobody else may write there
  --driver NAME       oci (crun or runc; needs root) or docker (default oci)
  --engine PATH       socket of the container engine (docker; default /var/run/docker.sock)
  --runtime NAME      runtime to use (default: what the driver chooses)
  --claims-dir DIR    host uids in use, the same for every driver of this host (default /run/glovebox-uids)
  --accept-risk NAME  go without a property; may be given again. ${Object.keys(acceptableRisks).join(', ')}
  --max-cells N       cells at once (default 64)
  --max-memory SIZE   memory of all cells together, such as 4096MiB (default 8192MiB)
  --sweep-every TIME  between two sweeps for what dead processes left (default 5m)
  --help              show this
`;

const options = {
  socket: { type: 'string' },
  group: { type: 'string' },
  driver: { type: 'string' },
  'run-dir': { type: 'string' },
  images: { type: 'string' },
  'claims-dir': { type: 'string' },
  engine: { type: 'string' },
  runtime: { type: 'string' },
  'accept-risk': { type: 'string', multiple: true },
  'max-cells': { type: 'string' },
  'max-memory': { type: 'string' },
  'sweep-every': { type: 'string' },
  help: { type: 'boolean' },
} as const;

/**
 * The whole configuration of celld. No variable and no file adds to it.
 *
 * @returns undefined where help was asked for.
 * @throws GloveboxError `USAGE`.
 */
export function readSettings(args: readonly string[]): Settings | undefined {
  const given = parse(args);
  if (given.help === true) return undefined;
  const driver = given.driver ?? 'oci';
  if (driver !== 'oci' && driver !== 'docker') throw usage('--driver', 'oci or docker');
  return {
    socketPath: path('--socket', given.socket),
    groupId: given.group === undefined ? undefined : groupId(given.group),
    driver,
    runDirectory: path('--run-dir', given['run-dir']),
    imagesDirectory: path('--images', given.images),
    claimsDirectory: given['claims-dir'] === undefined ? undefined : path('--claims-dir', given['claims-dir']),
    engine: path('--engine', given.engine ?? '/var/run/docker.sock'),
    runtime: given.runtime,
    acceptedRisks: (given['accept-risk'] ?? []).map(risk),
    maxCells: within('--max-cells', 'a number from 1 to 1000', count(given['max-cells'] ?? '64'), 1, 1000),
    maxMemoryBytes: within(
      '--max-memory',
      'a size such as 4096MiB',
      parseSize(given['max-memory'] ?? '8192MiB'),
      1024 * 1024,
      1000 * planCeilings.memoryBytes,
    ),
    sweepEveryMs: within(
      '--sweep-every',
      'a duration from 1s to 1440m',
      parseDuration(given['sweep-every'] ?? '5m'),
      1000,
      24 * 60 * 60_000,
    ),
  };
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options, strict: true, allowPositionals: false }).values;
  } catch (cause) {
    throw new GloveboxError('USAGE', { message: (cause as Error).message, hint: 'Run celld --help.', cause });
  }
}

const usage = (option: string, what: string): GloveboxError =>
  new GloveboxError('USAGE', { message: `${option} needs ${what}.`, hint: 'Run celld --help.' });

/** Where celld is started from must not decide what it works on. */
function path(option: string, value: string | undefined): string {
  if (value === undefined || !isAbsolute(value)) throw usage(option, 'an absolute path');
  return value;
}

const count = (text: string): number | undefined => (/^\d{1,9}$/.test(text) ? Number(text) : undefined);

function within(option: string, what: string, value: number | undefined, least: number, most: number): number {
  if (value === undefined || value < least || value > most) throw usage(option, what);
  return value;
}

function risk(name: string): AcceptableRisk {
  if (!Object.hasOwn(acceptableRisks, name)) throw usage('--accept-risk', Object.keys(acceptableRisks).join(' or '));
  return name as AcceptableRisk;
}

function groupId(group: string): number {
  const number = count(group) ?? count(groupLine(group)?.split(':')[2] ?? '');
  if (number === undefined) throw usage('--group', 'the name or number of a group');
  return number;
}

const groupLine = (name: string): string | undefined =>
  readFileSync('/etc/group', 'utf8')
    .split('\n')
    .find((line) => line.startsWith(`${name}:`));
