import { createHash } from 'node:crypto';
import {
  type CellClass,
  type CellPlan,
  type CellRole,
  cellPlanSchema,
  type Digest,
  type RunLimits,
} from '@glovebox/contract';
import canonicalize from 'canonicalize';

/** Memory that a builder cell gets: the tool, or the tests, and the unpacked packages. */
const builderMemoryBytes = 1024 * 1024 * 1024;
const builderScratchBytes = 512 * 1024 * 1024;

/** Cores that a cell may use while only code of ours runs in it. */
const bootCpu = 2;

/** Time for booting, loading and ending, on top of the attempt's own time. */
const lifetimeSlackMs = 30_000;

/** The plan for one attempt. The scratch directory is memory: it is added to what the node declared. */
export function planRunCell(image: Digest, limits: RunLimits, cellClass: CellClass): CellPlan {
  return cellPlanSchema.parse({
    schema: 'glovebox.cell-plan/1',
    role: 'run' satisfies CellRole,
    class: cellClass,
    image,
    limits: {
      cpu: limits.cpu,
      bootCpu,
      memoryBytes: limits.memoryBytes + limits.scratchBytes,
      pids: limits.pids,
      scratchBytes: limits.scratchBytes,
      scratchInodes: 4096,
      openFiles: 256,
      lifetimeMs: limits.timeoutMs + lifetimeSlackMs,
    },
  } satisfies CellPlan);
}

/** The plan for bundling one node package. */
export const planBundleCell = (image: Digest, cellClass: CellClass): CellPlan =>
  planBuilderCell('bundle', image, 2, cellClass);

/** The plan for checking the types of one node package. */
export const planTypesCell = (image: Digest, cellClass: CellClass): CellPlan =>
  planBuilderCell('types', image, 2, cellClass);

/** The plan for running the tests of one node package, once. Author code runs on one core, as nodes do. */
export const planTestsCell = (image: Digest, cellClass: CellClass): CellPlan =>
  planBuilderCell('tests', image, 1, cellClass);

function planBuilderCell(role: CellRole, image: Digest, cpu: number, cellClass: CellClass): CellPlan {
  return cellPlanSchema.parse({
    schema: 'glovebox.cell-plan/1',
    role,
    class: cellClass,
    image,
    limits: {
      cpu,
      bootCpu,
      memoryBytes: builderMemoryBytes,
      pids: 64,
      scratchBytes: builderScratchBytes,
      scratchInodes: 131_072,
      openFiles: 1024,
      lifetimeMs: 120_000,
    },
  } satisfies CellPlan);
}

/** `sha256:` of the plan's canonical JSON (RFC 8785). */
export function planHash(plan: CellPlan): Digest {
  const text = canonicalize(plan);
  if (text === undefined) throw new TypeError('a plan is an object');
  return `sha256:${createHash('sha256').update(text).digest('hex')}` as Digest;
}
