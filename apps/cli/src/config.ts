import { closeSync, constants, fstatSync, lstatSync, openSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { isAbsolute, join, resolve } from 'node:path';
import { type AcceptableRisk, acceptableRisks, type CellClass, GloveboxError } from '@glovebox/contract';
import { z } from 'zod';
import { parseYaml, type TextPosition } from './yaml-text.ts';

/**
 * Names of the environment variables that make the configuration. Of the rest only the home directory counts, and what npm
 * is configured with (`@glovebox/registry-npm`).
 */
export const environmentNames = {
  dataDir: 'GLOVEBOX_DATA_DIR',
  dataHome: 'XDG_DATA_HOME',
  extraCa: 'GLOVEBOX_EXTRA_CA',
} as const;

const ageUnits = { d: 86_400_000, h: 3_600_000, m: 60_000 } as const;
const agePattern = /^([1-9]\d{0,4})([dhm])$/;

/** Of a text of that pattern. */
function ageInMs(text: string): number {
  const [, count, unit] = agePattern.exec(text) as unknown as [string, string, keyof typeof ageUnits];
  return Number(count) * ageUnits[unit];
}

const riskNames = Object.keys(acceptableRisks) as [AcceptableRisk, ...AcceptableRisk[]];

const absolutePath = z.string().regex(/^\/[^\0]*$/);

/** Files in PEM. Whoever speaks to an engine has the rights of root there, so both ends show a certificate. */
const tlsSchema = z.strictObject({ ca: absolutePath, cert: absolutePath, key: absolutePath });

const dockerSchema = z
  .strictObject({
    host: z.string().regex(/^(?:unix:\/\/\/[^\0]+|tcp:\/\/(?:[\w.-]+|\[[\da-f:]+\]):[1-9]\d{0,4})$/),
    runtime: z
      .string()
      .regex(/^[\w.-]{1,64}$/)
      .optional(),
    tls: tlsSchema.optional(),
  })
  .refine(({ host, tls }) => host.startsWith('tcp:') === (tls !== undefined))
  .refine(({ host }) => !host.startsWith('tcp:') || Number(host.slice(host.lastIndexOf(':') + 1)) <= 65_535);

/** A host by name, as URLs spell it. */
const hostName = z
  .string()
  .max(253)
  .regex(/^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)*[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/);

const egressSchema = z.strictObject({
  proxy: z.url({ protocol: /^https?$/ }).exactOptional(),
  extraCa: z.array(absolutePath).max(64).default([]),
  hosts: z.record(hostName, z.union([z.ipv4(), z.ipv6()])).default({}),
});

const fileSchema = z
  .strictObject({
    driver: z.enum(['oci', 'docker', 'celld']).default('oci'),
    class: z.enum(['ns', 'gvisor']).default('ns'),
    runtime: z.union([z.enum(['auto', 'crun', 'runc', 'runsc']), absolutePath]).default('auto'),
    docker: dockerSchema.optional(),
    celld: z.strictObject({ socket: absolutePath, uid: z.int().min(0).exactOptional() }).optional(),
    acceptedRisks: z.array(z.enum(riskNames)).default([]),
    registry: z.url({ protocol: /^https?$/ }).optional(),
    packages: z.strictObject({ minimumAge: z.string().regex(agePattern).transform(ageInMs).optional() }).optional(),
    egress: egressSchema.prefault({}),
  })
  .superRefine((settings, context) => {
    const { driver } = settings;
    if (driver !== 'oci' && settings[driver] === undefined)
      context.addIssue({ code: 'custom', path: [driver], message: 'is missing' });
    // What the driver would not hear of is not passed over.
    if (driver !== 'oci' && settings.runtime !== 'auto')
      context.addIssue({ code: 'custom', path: ['runtime'], message: 'is of the driver oci' });
    if (driver === 'celld' && settings.acceptedRisks.length > 0)
      context.addIssue({ code: 'custom', path: ['acceptedRisks'], message: 'are told to celld' });
  });

/** How this host reaches the outside. */
export interface EgressSettings {
  /** URL of an HTTP proxy that everything goes through; what it has of credentials is never told. */
  readonly proxy?: string;
  /** Paths of files in PEM: certificates that count beside those of Node.js. */
  readonly extraCa: readonly string[];
  /** The administrator's own table of hosts: what stands in it is not looked up. The address is held to the policy as any other. */
  readonly hosts: { readonly [name: string]: string };
}

/** A container engine's address, as it is configured. */
export type DockerSettings = z.infer<typeof dockerSchema>;

export interface Config {
  readonly dataDir: string;
  /** What makes cells: an OCI runtime directly, a container engine, or celld. */
  readonly driver: 'oci' | 'docker' | 'celld';
  /** Isolation class of every cell. */
  readonly cellClass: CellClass;
  /** `auto`, `crun`, `runc`, `runsc`, or the path of an OCI runtime. */
  readonly runtime: string;
  /** There where the driver is `docker`. */
  readonly docker: DockerSettings | undefined;
  /** There where the driver is `celld`. */
  readonly celld: { readonly socket: string; readonly uid?: number } | undefined;
  /** What the administrator accepts to go without; every receipt says so. */
  readonly acceptedRisks: readonly AcceptableRisk[];
  /** URL of the package registry; undefined means the one that npm is configured with. */
  readonly registry: string | undefined;
  /** How long a package version must have been in the registry before a validation takes it; undefined: however short. */
  readonly minimumPackageAgeMs: number | undefined;
  /** A file in PEM, named by the environment: beside those of `egress`. */
  readonly extraCa: string | undefined;
  readonly egress: EgressSettings;
}

/** Cells, and what they reach the outside through, as they are where nothing is configured. */
export const defaultCells = {
  driver: 'oci',
  cellClass: 'ns',
  runtime: 'auto',
  docker: undefined,
  celld: undefined,
  acceptedRisks: [],
  egress: { extraCa: [], hosts: {} },
} as const satisfies Partial<Config>;

export const configFileName = 'glovebox.yaml';

export function dataDirOf(option: string | undefined): string {
  const env = process.env;
  const named = option ?? env[environmentNames.dataDir];
  if (named === '')
    throw new GloveboxError('USAGE', {
      message: 'The data directory is an empty string.',
      hint: 'Pass --data-dir DIR.',
    });
  if (named !== undefined) return resolve(named);
  const base = env[environmentNames.dataHome];
  return join(base !== undefined && isAbsolute(base) ? base : join(homedir(), '.local', 'share'), 'glovebox');
}

/**
 * Option, then environment, then glovebox.yaml of the data directory, then the default.
 * @throws GloveboxError `CONFIG_INVALID` with the place; `DATA_DIR_UNUSABLE` where it may not be looked at.
 */
export async function loadConfig(dataDirOption: string | undefined): Promise<Config> {
  const dataDir = dataDirOf(dataDirOption);
  return withSettings(dataDir, await readConfigFile(join(dataDir, configFileName)));
}

/** As if there were no glovebox.yaml. */
export const defaultConfig = (dataDirOption: string | undefined): Config =>
  withSettings(dataDirOf(dataDirOption), fileSchema.parse({}));

function withSettings(dataDir: string, settings: z.infer<typeof fileSchema>): Config {
  const { driver, runtime, docker, celld, acceptedRisks, registry, egress } = settings;
  return {
    dataDir,
    driver,
    cellClass: settings.class,
    runtime,
    docker,
    celld,
    acceptedRisks,
    registry,
    minimumPackageAgeMs: settings.packages?.minimumAge,
    extraCa: process.env[environmentNames.extraCa],
    egress,
  };
}

async function readConfigFile(path: string): Promise<z.infer<typeof fileSchema>> {
  const text = readConfigText(path);
  if (text === undefined) return fileSchema.parse({});
  const refuse = (message: string, at: TextPosition, extra: { path?: string; hint?: string } = {}): never => {
    const { path: pointer, ...hint } = extra;
    throw new GloveboxError('CONFIG_INVALID', {
      message: `${path}: ${message}.`,
      place: { file: path, ...(pointer === undefined ? {} : { path: pointer }), ...at },
      ...hint,
    });
  };
  const yaml = await parseYaml(text);
  if (!yaml.ok) return refuse(yaml.message, yaml.place);
  const parsed = fileSchema.safeParse(yaml.value ?? {});
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  if (issue?.code === 'unrecognized_keys' && issue.path.length === 0) {
    const [name = ''] = issue.keys;
    const { nearest } = await import('@glovebox/validate');
    const near = nearest(name, Object.keys(fileSchema.shape));
    return refuse(
      `${name} is not a setting${near === undefined ? '' : `; did you mean ${near}`}`,
      yaml.placeOfName(name),
      {
        path: `/${name}`,
        hint: `There is ${Object.keys(fileSchema.shape).join(', ')}.`,
      },
    );
  }
  const issuePath = issue?.path ?? [];
  const name = String(issuePath[0] ?? '');
  if (name === '') return refuse('the settings are no map of names and values', yaml.placeOf([]), { path: '' });
  return refuse(`${name} ${meanings[name as keyof typeof meanings]}`, yaml.placeOf(issuePath), {
    path: `/${issuePath.map(String).join('/')}`,
  });
}

/** What a setting has to be. */
const meanings: Readonly<Record<keyof z.infer<typeof fileSchema>, string>> = {
  driver: 'is oci, docker or celld',
  class: 'is ns or gvisor',
  runtime: 'is auto, crun, runc, runsc or an absolute path, and is set for the driver oci alone',
  docker:
    'holds host, which is unix:///path, or tcp://host:port beside tls with the absolute paths ca, cert and key, and may hold runtime',
  celld: 'holds socket, which is an absolute path, and may hold uid, the number of the user that celld runs as',
  acceptedRisks: `is a list that holds nothing but ${riskNames.join(', ')}; those of celld are set where it is started`,
  registry: 'is a URL that begins with https:// or http://',
  packages: 'holds nothing but minimumAge, which is a number of days, hours or minutes such as 7d, 12h or 90m',
  egress:
    'holds nothing but proxy, which is a URL that begins with http:// or https://, extraCa, which is a list of absolute paths, and hosts, which gives an address to each of some lower-case host names',
};

const maxConfigBytes = 64 * 1024;

/**
 * The file names the program that runs as root, so it counts only where nobody else could have written it. Checked on
 * the open file; a pipe in its place does not hang us.
 *
 * @returns undefined where there is none.
 */
function readConfigText(path: string): string | undefined {
  const refuse = (what: string, cause?: unknown): GloveboxError =>
    new GloveboxError('CONFIG_INVALID', { message: `${path} ${what}.`, place: { file: path }, cause });
  let file: number;
  try {
    file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    // Where the data directory is no directory, whoever opens it says so.
    if (code === 'ENOTDIR' || code === 'ENAMETOOLONG' || (code === 'ENOENT' && !isLink(path))) return undefined;
    if (code === 'EACCES')
      throw new GloveboxError('DATA_DIR_UNUSABLE', {
        message: `${path} cannot be read: ${message}.`,
        hint: 'Run as the owner of the data directory, or set --data-dir.',
        place: { file: path },
        cause: error,
      });
    throw refuse(`cannot be read: ${message}`, error);
  }
  try {
    const found = fstatSync(file);
    if (!found.isFile()) throw refuse('is not a file');
    if (found.uid !== process.geteuid?.() && found.uid !== 0) throw refuse('belongs to somebody else');
    if ((found.mode & 0o022) !== 0) throw refuse('can be changed by others; run chmod 600 on it');
    if (found.size > maxConfigBytes) throw refuse(`is larger than ${maxConfigBytes} bytes`);
    return new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(file));
  } catch (error) {
    if (error instanceof GloveboxError) throw error;
    throw refuse('is not UTF-8 text', error);
  } finally {
    closeSync(file);
  }
}

function isLink(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true;
}
