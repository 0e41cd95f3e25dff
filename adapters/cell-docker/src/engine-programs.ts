import { judgeVersion, type KnownHole, type ProgramKind, type ProgramVersion } from '@glovebox/cell/host';
import type { EngineVersion } from './engine-schemas.ts';

/** A program between us and a cell, and what is known against it. */
export interface JudgedProgram {
  program: ProgramVersion;
  open: readonly KnownHole[];
  removed: readonly KnownHole[];
}

const runtimeKinds: readonly ProgramKind[] = ['crun', 'runc'];

/**
 * The engine, what it starts containers by, and the runtime that is used, by what the engine tells of them. A runtime whose
 * version it does not tell has every hole that is known of its kind; so has one of another kind, whatever it is called.
 *
 * @param runtimeProgram file name of the runtime.
 */
export function judgePrograms(version: EngineVersion, runtimeProgram: string): JudgedProgram[] {
  const told = (version.Components ?? []).flatMap(readComponent);
  const kind = runtimeKinds.find((one) => runtimeProgram.startsWith(one));
  const runtime = told.find((program) => program.kind === kind);
  const others = told.filter((program) => !runtimeKinds.includes(program.kind));
  const programs = [...others, runtime ?? { kind: kind ?? 'runc', version: 'unknown' }];
  return programs.map((program) => ({ program, ...judgeVersion(program) }));
}

/** Engines have names of their own for the same programs. Docker tells the package where a distribution built it. */
function readComponent({ Name, Version, Details }: NonNullable<EngineVersion['Components']>[number]): ProgramVersion[] {
  const kinds: readonly [RegExp, ProgramKind][] = [
    [/^Engine$/, 'docker'],
    [/^Podman Engine$/, 'podman'],
    [/^containerd$/, 'containerd'],
    [/^(OCI Runtime \()?runc\b/, 'runc'],
    [/^(OCI Runtime \()?crun\b/, 'crun'],
  ];
  const kind = kinds.find(([pattern]) => pattern.test(Name))?.[1];
  const number = /\d+\.\S+/.exec(Version)?.[0];
  if (kind === undefined || number === undefined) return [];
  const commit = /commit: (\S+)/.exec(Version)?.[1] ?? Details?.GitCommit ?? '';
  // A commit is a version of a package only where it reads as one.
  return [{ kind, version: number, ...(/^\d+\./.test(commit) ? { packageVersion: commit } : {}) }];
}
