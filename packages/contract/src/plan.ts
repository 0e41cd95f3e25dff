import { z } from 'zod';
import { idPatterns } from './ids.ts';

/** Ceilings that a driver checks by itself, whatever the caller says. Bytes, milliseconds, cores. */
export const planCeilings = {
  cpu: 8,
  memoryBytes: 4096 * 1024 * 1024,
  pids: 512,
  scratchBytes: 2048 * 1024 * 1024,
  scratchInodes: 262_144,
  openFiles: 1024,
  lifetimeMs: 30 * 60_000,
} as const;

/**
 * Isolation class, the weakest first. `ns`: namespaces, cgroups and seccomp on the host's kernel. `gvisor`: the same
 * around a kernel in user space (runsc). `kvm`: a virtual machine; declared, no driver has it.
 */
export const cellClasses = ['ns', 'gvisor', 'kvm'] as const;
const cellClassSchema = z.enum(cellClasses);
export type CellClass = z.infer<typeof cellClassSchema>;

/** Whether a class holds at least what another one does: they stand in order of strength. */
export const isAsStrong = (cellClass: CellClass, demanded: CellClass): boolean =>
  cellClasses.indexOf(cellClass) >= cellClasses.indexOf(demanded);

/** What of a release's permissions decides where it may run; the rest of them is of no concern here. */
export const minimumClassSchema = z.object({ minimumClass: cellClassSchema });

/**
 * What an administrator may accept to go without, by name; every receipt then says so. Nothing else that is required can
 * be waived.
 */
export const acceptableRisks = {
  'runtime-below-floor': 'a container runtime whose version has a known hole, or whose version cannot be told',
  'scratch-inodes-unlimited': 'an engine that cannot bound the number of files in the scratch directory',
} as const;
export type AcceptableRisk = keyof typeof acceptableRisks;

/**
 * Everything that decides what a cell is, as data. It names no mount, device, environment variable, argument or network:
 * a driver fixes those, so a plan cannot ask for them. Its hash (canonical JSON, sha256) stands in the receipt.
 */
export const cellPlanSchema = z.strictObject({
  schema: z.literal('glovebox.cell-plan/1'),
  /**
   * `run`: the harness with a node. `bundle`: unpacks packages, then becomes esbuild. `types`: unpacks, then becomes tsc.
   * `tests`: unpacks, then runs the author's tests. `probe`: tells what a cell is.
   */
  role: z.enum(['run', 'bundle', 'types', 'tests', 'probe']),
  class: cellClassSchema,
  image: z.string().regex(idPatterns.digest),
  limits: z.strictObject({
    /** Cores once the job is dispatched. While it boots, only code of ours runs and a cell may use `bootCpu`. */
    cpu: z.number().min(0.05).max(planCeilings.cpu),
    bootCpu: z.number().min(0.05).max(planCeilings.cpu),
    /** Memory without swap, tmpfs included. */
    memoryBytes: z
      .int()
      .min(32 * 1024 * 1024)
      .max(planCeilings.memoryBytes),
    pids: z.int().min(16).max(planCeilings.pids),
    scratchBytes: z.int().min(4096).max(planCeilings.scratchBytes),
    scratchInodes: z.int().min(16).max(planCeilings.scratchInodes),
    openFiles: z.int().min(64).max(planCeilings.openFiles),
    /** From boot to kill, whatever happens: the backstop behind the deadline of the attempt. */
    lifetimeMs: z.int().min(1000).max(planCeilings.lifetimeMs),
  }),
});

export type CellPlan = z.infer<typeof cellPlanSchema>;
export type CellRole = CellPlan['role'];
