import { createHash } from 'node:crypto';
import type { SyscallArch } from '@glovebox/cell';
import { type CellClass, GloveboxError } from '@glovebox/contract';
import type { EngineApi } from './engine-api.ts';
import { type EngineKind, engineKindOf } from './engine-kind.ts';
import { type JudgedProgram, judgePrograms } from './engine-programs.ts';
import type { EngineInfo, EngineVersion } from './engine-schemas.ts';

/** One engine with one of its runtimes, as it says of itself. */
export interface EngineFacts {
  kind: EngineKind;
  version: EngineVersion;
  info: EngineInfo;
  arch: SyscallArch;
  /** Name of the runtime as the engine knows it. */
  runtime: string;
  class: CellClass;
  /** What is known against the engine's programs. */
  programs: JudgedProgram[];
  /** Whether ids of containers are mapped to others of the host, by the daemon and for all alike. */
  remapsIds: boolean;
  /** Stands for everything that a test of this engine depends on. Another engine, version or runtime has another. */
  fingerprint: string;
  /** Who must be asked whether a container of this engine is gone; see UidClaims. */
  keeper: string;
}

/** @throws GloveboxError `ENGINE_UNREACHABLE`, `ENGINE_REFUSED`, `HOST_UNSUPPORTED`. */
export async function readEngineFacts(api: EngineApi, chosenRuntime: string | undefined): Promise<EngineFacts> {
  // Not at once: the version decides in which words the rest is asked.
  const version = await api.version();
  const info = await api.info();
  const kind = engineKindOf(version.Components ?? []);
  // Podman makes an id up for each answer; where it keeps its containers is what makes it the same.
  const identity = kind === 'podman' ? `${info.Name} ${info.DockerRootDir}` : info.ID;
  const runtime = chosenRuntime ?? info.DefaultRuntime;
  const known = info.Runtimes ?? {};
  if (known[runtime] === undefined) {
    throw new GloveboxError('ENGINE_REFUSED', {
      message: `The container engine knows no runtime named ${runtime}.`,
      hint: `Choose one of ${Object.keys(known).sort().join(', ')}, or tell the engine of it.`,
    });
  }
  const program = programOf(runtime, known[runtime]?.path);
  return {
    kind,
    version,
    info,
    arch: archOf(info.Architecture),
    runtime,
    // Whatever a runtime is called: a name proves no kernel of its own, and none runs so through an engine's API.
    class: 'ns',
    programs: judgePrograms(version, program),
    remapsIds: (info.SecurityOptions ?? []).some((option) => option.split(',').includes('name=userns')),
    fingerprint: hashOf(
      JSON.stringify([
        ...[identity, version.Version, version.Components ?? [], runtime, known[runtime], info.SecurityOptions],
        ...[info.CgroupDriver, info.CgroupVersion, info.KernelVersion, info.Architecture],
      ]),
    ),
    keeper: `${kind}-${hashOf(identity).slice(0, 16)}`,
  };
}

const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex');

/** As the kernel names them. */
function archOf(architecture: string): SyscallArch {
  if (architecture === 'x86_64' || architecture === 'amd64') return 'x64';
  if (architecture === 'aarch64' || architecture === 'arm64') return 'arm64';
  throw new GloveboxError('HOST_UNSUPPORTED', {
    message: `Cells need x64 or arm64; the container engine's host is ${architecture}.`,
  });
}

/** Its file name, where the engine tells its path: a name can be given to any. */
const programOf = (name: string, path: string | undefined): string =>
  (path === undefined || path === '' ? name : path).split('/').at(-1) ?? '';

/** For people and receipts, such as `docker 20.10.24, runc 1.1.5`. */
export const describeVersion = ({ programs }: EngineFacts): string =>
  programs.map(({ program }) => `${program.kind} ${program.packageVersion ?? program.version}`).join(', ');
