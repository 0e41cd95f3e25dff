import { createHash } from 'node:crypto';
import { type CellPlan, type CellRole, cellPlanSchema, type Digest, type RunLimits } from '@glovebox/contract';
import canonicalize from 'canonicalize';

/** Memory that a builder cell gets: esbuild, the unpacked packages and the harness. */
const builderMemoryBytes = 1024 * 1024 * 1024;
const builderScratchBytes = 512 * 1024 * 1024;

/** Cores that a cell may use while only code of ours runs in it. */
const bootCpu = 2;

/** Time for booting, loading and ending, on top of the attempt's own time. */
const lifetimeSlackMs = 30_000;

/** The plan for one attempt. The scratch directory is memory: it is added to what the node declared. */
export function planRunCell(image: Digest, limits: RunLimits): CellPlan {
  return cellPlanSchema.parse({
    schema: 'glovebox.cell-plan/1',
    role: 'run' satisfies CellRole,
    class: 'ns',
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
export function planBundleCell(image: Digest): CellPlan {
  return cellPlanSchema.parse({
    schema: 'glovebox.cell-plan/1',
    role: 'bundle' satisfies CellRole,
    class: 'ns',
    image,
    limits: {
      cpu: 2,
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
