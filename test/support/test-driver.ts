import { join } from 'node:path';
import type { CellDriver } from '@glovebox/cell';
import { createDockerDriver } from '@glovebox/cell-docker';
import type { InstanceId } from '@glovebox/contract';
import { imageArchive } from '@glovebox/image-rootfs';
import type { TestContext } from 'vitest';
import type { DriverOverrides } from '../../apps/cli/src/local-engine.ts';

/**
 * Which driver makes the cells of a run of tests: cell-oci where nothing is said, else cell-docker at the engine whose socket
 * this variable names. One engine serves a whole run; see test/matrix.
 */
export const engineVariable = 'GLOVEBOX_TEST_ENGINE';

const engineSocket = (): string | undefined => process.env[engineVariable];

/** Of which kind the standard streams and the channel of a cell are. An engine gives it pipes. */
export const channelKind = (): 'socket' | 'pipe' => (engineSocket() === undefined ? 'socket' : 'pipe');

/** What a cell takes away of the modes of new files. An engine takes no word on it, and a cell shares its files with nobody. */
export const cellUmask = (): number => (engineSocket() === undefined ? 0o077 : 0o022);

/** Leave a test out where an engine makes the cells. The reason is printed beside it. */
export function skipOnEngine(context: TestContext, reason: string): void {
  if (engineSocket() !== undefined) context.skip(reason);
}

/** Why a test of a weakened cell cannot run here, or undefined. It is printed beside the test. */
export function whyNotHere({ weakenForTest }: DriverOverrides): string | undefined {
  if (engineSocket() === undefined || weakenForTest === undefined || weakensArguments(weakenForTest)) return undefined;
  return 'it weakens a cell in the words of an OCI runtime, which no container engine is told';
}

export interface DriverPlace {
  instance: InstanceId;
  runDirectory: string;
  /** Holds `images/`. */
  imagesDir: string;
}

/** The driver at the engine of this run, if there is one. */
export function openEngineDriver(place: DriverPlace, overrides: DriverOverrides = {}): CellDriver | undefined {
  const socketPath = engineSocket();
  if (socketPath === undefined) return undefined;
  const { weakenForTest, ignoreDeadlineForTest } = overrides;
  return createDockerDriver({
    instance: place.instance,
    runDirectory: place.runDirectory,
    engine: { socketPath },
    archiveOf: (digest) => imageArchive(join(place.imagesDir, 'images', digest.slice('sha256:'.length))),
    ...(weakenForTest === undefined
      ? {}
      : { weakenForTest: (body) => ({ ...body, Cmd: argumentsOf(weakenForTest, body.Cmd) }) }),
    ...(ignoreDeadlineForTest === undefined ? {} : { ignoreDeadlineForTest }),
  });
}

type Weaken = NonNullable<DriverOverrides['weakenForTest']>;

/** Of a specification, only what is the same for every driver. */
const argumentsOf = (weaken: Weaken, args: string[]): string[] =>
  weaken({ process: { args } } as Parameters<Weaken>[0]).process.args;

/** Whether it looks at the arguments of a cell's process and at nothing else, and changes them. */
function weakensArguments(weaken: Weaken): boolean {
  const only = ['/usr/bin/node', '--permission', '/glovebox/harness.cjs'];
  try {
    const weakened = weaken({ process: { args: [...only] } } as Parameters<Weaken>[0]);
    return Object.keys(weakened).join() === 'process' && weakened.process.args.join() !== only.join();
  } catch {
    return false;
  }
}
