import type { Socket } from 'node:net';
import { Readable } from 'node:stream';
import { GloveboxError } from '@glovebox/contract';
import type { z } from 'zod';
import type { ContainerLimits, CreateBody } from './create-body.ts';
import { type EngineClient, isRefusal, oneLine } from './engine-client.ts';
import { type EngineKind, engineKindOf } from './engine-kind.ts';
import {
  containerSchema,
  createdSchema,
  type EngineContainer,
  type EngineInfo,
  type EngineStats,
  type EngineVersion,
  imageSchema,
  infoSchema,
  type ListedContainer,
  type ListedScratch,
  listSchema,
  loadLineSchema,
  scratchSchema,
  statsSchema,
  versionSchema,
} from './engine-schemas.ts';
import { createPodmanApi, oldestPodman } from './podman-api.ts';

/**
 * All that is ever asked of an engine. There is no exec, no archive, no build, no pull and no commit among it.
 * Each throws `ENGINE_UNREACHABLE` or `ENGINE_REFUSED`; undefined is what the engine does not have.
 */
export interface EngineApi {
  readonly address: string;
  /** It could not be reached: what comes back may speak otherwise. */
  forget(): void;
  /** Asked anew; all other calls are made in the words that go with the last answer. */
  version(): Promise<EngineVersion>;
  info(): Promise<EngineInfo>;
  /** @returns the id by which the engine knows an image of that id, or undefined. */
  findImage(digest: string): Promise<string | undefined>;
  loadImage(archive: AsyncIterable<Uint8Array>): Promise<void>;
  /** @returns the container's id; undefined where the image is not there. */
  create(name: string, body: CreateBody): Promise<string | undefined>;
  /** The raw connection to the standard streams that are named. */
  attach(id: string, streams: readonly ('stdin' | 'stdout' | 'stderr')[]): Promise<Socket>;
  start(id: string, deadlineMs: number): Promise<void>;
  inspect(id: string): Promise<EngineContainer | undefined>;
  /** Resolves when the container does not run, or is not there. Takes any time. */
  whenStopped(id: string, signal: AbortSignal): Promise<void>;
  /** SIGKILL. A container that does not run, or is not there, is no error. */
  kill(id: string): Promise<void>;
  /**
   * With what it wrote, whether it runs or not. One that is not there is no error. `name`: what it was created as.
   *
   * @returns whether the engine had it, and has removed it.
   */
  remove(id: string, name: string): Promise<boolean>;
  /**
   * Processor time anew; the other limits must be those that it has: crun takes one that is not told for none. Docker is
   * asked afterwards what it set.
   */
  setLimits(id: string, limits: ContainerLimits): Promise<void>;
  /** One look at what it uses. Empty of a container that does not run. */
  stats(id: string, deadlineMs: number): Promise<EngineStats | undefined>;
  /** Every container that carries the label, running or not. */
  list(label: string): Promise<ListedContainer[]>;
  /** What carries the label and was made beside containers, by their names: it may outlive them. */
  listScratch(label: string): Promise<ListedScratch[]>;
}

/** What we know how to say: from Docker 20.10 on. A newer engine is spoken to in the newest words of these that it takes. */
export const oldestApiVersion = '1.41';
const newestApiVersion = '1.47';

export interface ApiDeadlines {
  callMs: number;
  /** Taking in an image: several hundred megabytes. */
  loadMs: number;
}

/** @param runDirectory where an engine is given what it takes as a file only. */
export function createEngineApi(client: EngineClient, deadlines: ApiDeadlines, runDirectory: string): EngineApi {
  let spoken: Promise<Spoken> | undefined;
  const podman = createPodmanApi(client, deadlines.callMs, runDirectory);

  /** Asked once; a failure is not remembered. */
  const words = (): Promise<Spoken> => {
    if (spoken !== undefined) return spoken;
    const asked = negotiate(client, deadlines.callMs).catch((thrown: unknown) => {
      if (spoken === asked) spoken = undefined;
      throw thrown;
    });
    spoken = asked;
    return asked;
  };
  const apiPrefix = async (): Promise<string> => (await words()).prefix;
  const isPodman = async (): Promise<boolean> => (await words()).kind === 'podman';

  const ask = async (
    method: 'GET' | 'POST' | 'DELETE',
    path: string,
    answers: readonly number[],
    more: { query?: Record<string, string>; json?: unknown; deadlineMs?: number | null; signal?: AbortSignal } = {},
  ): Promise<{ status: number; text: string }> =>
    client.call({
      method,
      path: `${await apiPrefix()}${path}`,
      answers,
      deadlineMs: more.deadlineMs === undefined ? deadlines.callMs : more.deadlineMs,
      ...(more.query === undefined ? {} : { query: more.query }),
      ...(more.json === undefined ? {} : { json: more.json }),
      ...(more.signal === undefined ? {} : { signal: more.signal }),
    });

  return {
    address: client.address,
    forget() {
      spoken = undefined;
    },

    async version() {
      spoken = undefined;
      return (await words()).version;
    },
    info: async () => read(infoSchema, await ask('GET', '/info', [200])),

    async findImage(digest) {
      const answer = await ask('GET', `/images/${digest}/json`, [200, 404]);
      return answer.status === 404 ? undefined : read(imageSchema, answer).Id;
    },

    async loadImage(archive) {
      const source = tellingWhy(archive);
      const stream = Readable.from(source.chunks, { objectMode: false });
      // Not started before the version is known: an archive that nobody reads would not be closed.
      const path = `${await apiPrefix()}/images/load`;
      const request = { method: 'POST', path, query: { quiet: '1' }, stream, answers: [200] } as const;
      const answer = await client.call({ ...request, deadlineMs: deadlines.loadMs }).catch((thrown: unknown) => {
        // An archive that fails breaks the call off, and then says more than the call does.
        throw source.failure() ?? thrown;
      });
      for (const line of answer.text.split('\n').filter((text) => text.trim() !== '')) {
        const { error } = readJson(loadLineSchema, line);
        if (error !== undefined)
          throw new GloveboxError('ENGINE_REFUSED', { message: `The engine refused an image: ${oneLine(error)}` });
      }
    },

    async create(name, body) {
      if (await isPodman()) {
        const answer = await podman.create(name, body);
        return answer.status === 404 ? undefined : read(createdSchema, answer).Id;
      }
      try {
        return read(createdSchema, await ask('POST', '/containers/create', [201], { query: { name }, json: body })).Id;
      } catch (thrown) {
        if (isRefusal(thrown, 404)) return undefined;
        throw thrown;
      }
    },

    async attach(id, streams) {
      // Each said: what is left out is no stream for Docker, and every stream for Podman.
      const chosen = (['stdin', 'stdout', 'stderr'] as const).map((name) => [name, streams.includes(name) ? '1' : '0']);
      const query = { stream: '1', ...(Object.fromEntries(chosen) as Record<string, string>) };
      return client.hijack(`${await apiPrefix()}/containers/${id}/attach`, query, deadlines.callMs);
    },

    start: async (id, deadlineMs) => void (await ask('POST', `/containers/${id}/start`, [204], { deadlineMs })),

    async inspect(id) {
      const answer = await ask('GET', `/containers/${id}/json`, [200, 404]);
      return answer.status === 404 ? undefined : read(containerSchema, answer);
    },

    async whenStopped(id, signal) {
      const query = { condition: 'not-running' };
      await ask('POST', `/containers/${id}/wait`, [200, 404], { query, deadlineMs: null, signal });
    },

    kill: async (id) =>
      void (await ask('POST', `/containers/${id}/kill`, [204, 404, 409], { query: { signal: 'SIGKILL' } })),
    async remove(id, name) {
      // 409: it is being removed already. Whoever removes looks again.
      const { status } = await ask('DELETE', `/containers/${id}`, [204, 404, 409], { query: { force: '1', v: '1' } });
      if (await isPodman()) await podman.removeScratch(name);
      return status === 204;
    },

    async setLimits(id, limits) {
      if (await isPodman()) return podman.setLimits(id, limits);
      await ask('POST', `/containers/${id}/update`, [200], { json: limits });
      requireLimits(limits, await this.inspect(id));
    },

    async stats(id, deadlineMs) {
      const query = { stream: '0', 'one-shot': '1' };
      const answer = await ask('GET', `/containers/${id}/stats`, [200, 404, 409], { query, deadlineMs });
      // Of a container that dies meanwhile, an engine may say nothing at all.
      return answer.status === 200 && answer.text !== '' ? read(statsSchema, answer) : undefined;
    },

    async list(label) {
      const query = { all: '1', filters: JSON.stringify({ label: [label] }) };
      return read(listSchema, await ask('GET', '/containers/json', [200], { query }));
    },

    listScratch: async (label) => ((await isPodman()) ? read(scratchSchema, await podman.listScratch(label)) : []),
  };
}

/** The same archive. What it threw itself is kept: who reads it may be told of something else. */
function tellingWhy(archive: AsyncIterable<Uint8Array>): {
  chunks: AsyncIterable<Uint8Array>;
  failure(): unknown;
} {
  let failure: unknown;
  async function* chunks(): AsyncGenerator<Uint8Array> {
    const iterator = archive[Symbol.asyncIterator]();
    const next = async (): Promise<IteratorResult<Uint8Array>> => {
      try {
        return await iterator.next();
      } catch (thrown) {
        failure = thrown;
        throw thrown;
      }
    };
    try {
      for (let item = await next(); item.done !== true; item = await next()) yield item.value;
    } finally {
      await iterator.return?.();
    }
  }
  return { chunks: chunks(), failure: () => failure };
}

/** An engine may say that it sets a limit, and set none. Podman tells the old ones for ever. */
function requireLimits(limits: ContainerLimits, told: EngineContainer | undefined): void {
  const lost = Object.entries(limits).filter(([name, value]) => told?.HostConfig[name] !== value);
  if (lost.length === 0) return;
  const names = lost.map(([name]) => name).join(', ');
  throw new GloveboxError('ENGINE_REFUSED', {
    message: `The engine tells other limits than it was told to set: ${names}.`,
  });
}

/** By which words an engine is asked. */
interface Spoken {
  prefix: string;
  kind: EngineKind;
  version: EngineVersion;
}

async function negotiate(client: EngineClient, deadlineMs: number): Promise<Spoken> {
  // Answered by every version, whatever it takes else.
  const version = read(
    versionSchema,
    await client.call({ method: 'GET', path: '/version', answers: [200], deadlineMs }),
  );
  if (isOlder(version.ApiVersion, oldestApiVersion)) {
    throw new GloveboxError('ENGINE_REFUSED', {
      message: `The container engine speaks API ${version.ApiVersion}; cells need ${oldestApiVersion}.`,
      hint: 'Use Docker 20.10 or newer.',
    });
  }
  if (version.MinAPIVersion !== undefined && isOlder(newestApiVersion, version.MinAPIVersion)) {
    throw new GloveboxError('ENGINE_REFUSED', {
      message: `The container engine takes no API older than ${version.MinAPIVersion}; this is ${newestApiVersion}.`,
      hint: 'Use an older engine, or a newer version of this program.',
    });
  }
  const kind = engineKindOf(version.Components ?? []);
  if (kind === 'podman' && isOlder(version.Version, oldestPodman)) {
    throw new GloveboxError('ENGINE_REFUSED', {
      message: `The container engine is Podman ${version.Version}; cells need ${oldestPodman}.`,
    });
  }
  const prefix = `/v${isOlder(version.ApiVersion, newestApiVersion) ? version.ApiVersion : newestApiVersion}`;
  return { prefix, kind, version };
}

/** By the first two numbers. What does not begin with two is older than everything. */
export function isOlder(version: string, than: string): boolean {
  const [major, minor] = numbersOf(version);
  const [otherMajor, otherMinor] = numbersOf(than);
  return major === otherMajor ? minor < otherMinor : major < otherMajor;
}

function numbersOf(version: string): [major: number, minor: number] {
  const [, major, minor] = /^(\d+)\.(\d+)/.exec(version) ?? [];
  return [Number(major ?? -1), Number(minor ?? -1)];
}

const read = <T>(schema: z.ZodType<T>, { text }: { text: string }): T => readJson(schema, text);

function readJson<T>(schema: z.ZodType<T>, text: string): T {
  let unsafe: unknown;
  try {
    unsafe = JSON.parse(text);
  } catch (thrown) {
    throw new GloveboxError('ENGINE_REFUSED', {
      message: 'An answer of the container engine is no JSON.',
      cause: thrown,
    });
  }
  const parsed = schema.safeParse(unsafe);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  throw new GloveboxError('ENGINE_REFUSED', {
    message: oneLine(
      `An answer of the container engine is not as its API says, at /${issue?.path.join('/') ?? ''}: ${issue?.message ?? ''}`,
    ),
  });
}
