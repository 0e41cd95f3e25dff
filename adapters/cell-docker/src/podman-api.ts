import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { hostError, judgeOwner, parseOwnedName } from '@glovebox/cell/host';
import type { ContainerLimits, CreateBody } from './create-body.ts';
import type { EngineAnswer, EngineClient } from './engine-client.ts';
import { podmanLimits, podmanScratch, podmanSpec, seccompOfBody } from './podman-spec.ts';

/** What Podman is asked in words of its own; everything else it understands in Docker's. */
export interface PodmanApi {
  /** The container with a volume of the same name, or neither. @returns the engine's answer: 201, or 404 for no such image. */
  create(name: string, body: CreateBody): Promise<EngineAnswer>;
  /** What `create` made beside the container, once that is gone. */
  removeScratch(name: string): Promise<void>;
  setLimits(id: string, limits: ContainerLimits): Promise<void>;
  /** Every volume that carries the label. */
  listScratch(label: string): Promise<EngineAnswer>;
}

/** The oldest version that can do all of it; older engines refuse the words of a newer one. */
export const oldestPodman = '4.3.0';

/** @param runDirectory of this host, where the engine must run too: it takes the system-call list from a file only. */
export function createPodmanApi(client: EngineClient, callMs: number, runDirectory: string): PodmanApi {
  const ask = (
    method: 'GET' | 'POST' | 'DELETE',
    path: string,
    answers: readonly number[],
    more: { json?: unknown; query?: Record<string, string> } = {},
  ): Promise<EngineAnswer> =>
    client.call({ method, path: `/v${oldestPodman}/libpod${path}`, answers, deadlineMs: callMs, ...more });

  const removeScratch = async (name: string): Promise<void> => {
    // Before the volume, by which a sweep finds it. A name comes from the engine, and is a path only where it is one of ours.
    if (parseOwnedName(name) !== undefined) rmSync(join(runDirectory, `${filePrefix}${name}`), { force: true });
    await ask('DELETE', `/volumes/${encodeURIComponent(name)}`, [204, 404]);
  };

  return {
    async create(name, body) {
      // Asked first: that an image is missing must not leave a volume.
      const image = await ask('GET', `/images/${body.Image.replace(/^sha256:/, '')}/exists`, [204, 404]);
      if (image.status === 404) return image;
      await ask('POST', '/volumes/create', [201], { json: podmanScratch(body, name) });
      try {
        return await withFile(runDirectory, name, seccompOfBody(body), (path) =>
          ask('POST', '/containers/create', [201], { json: podmanSpec(body, name, name, path) }),
        );
      } catch (thrown) {
        await removeScratch(name).catch(() => undefined);
        throw thrown;
      }
    },

    removeScratch,

    setLimits: async (id, limits) =>
      void (await ask('POST', `/containers/${id}/update`, [201], { json: podmanLimits(limits) })),

    listScratch: (label) =>
      ask('GET', '/volumes/json', [200], { query: { filters: JSON.stringify({ label: [label] }) } }),
  };
}

const filePrefix = 'seccomp-';

/**
 * A text as a file for as long as an action takes. It has the name of what it is for, so that one whose maker died meanwhile
 * is told from those of live ones; the next that is made removes it.
 */
async function withFile<T>(
  directory: string,
  name: string,
  text: string | undefined,
  action: (path: string | undefined) => Promise<T>,
): Promise<T> {
  if (text === undefined) return action(undefined);
  const path = join(directory, `${filePrefix}${name}`);
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    removeAbandoned(directory);
    writeFileSync(path, text, { mode: 0o600, flag: 'wx' });
  } catch (thrown) {
    throw hostError(thrown, 'HOST_UNSUPPORTED', 'Cannot write the system-call list for the container engine');
  }
  try {
    return await action(path);
  } finally {
    rmSync(path, { force: true });
  }
}

/** Of owners that are not known to be dead everything stays. */
function removeAbandoned(directory: string): void {
  for (const file of readdirSync(directory)) {
    const owned = file.startsWith(filePrefix) ? parseOwnedName(file.slice(filePrefix.length)) : undefined;
    if (owned !== undefined && judgeOwner(owned) === 'dead') rmSync(join(directory, file), { force: true });
  }
}
