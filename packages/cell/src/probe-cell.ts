import { finished } from 'node:stream/promises';
import { type CellClass, type CellId, type CellPlan, GloveboxError, newCellId } from '@glovebox/contract';
import { type ConformanceResult, judgeProbe } from './conformance.ts';
import type { Cell, CellFacts } from './driver.ts';
import { watchHostNamespaces } from './host-namespaces.ts';
import { maxProbeBytes, readProbeReport } from './probe-report.ts';
import type { CellProfile } from './profile.ts';
import { sysprobeArch } from './sysprobe.ts';

/** A probe runs for some 100 ms, in a user-space kernel for a few times that. */
const probeDeadlineMs = 20_000;

/** Often enough to see a process of the probe cell while it lives. */
const watchIntervalMs = 20;

const probePlan = (image: string, cellClass: CellClass): CellPlan => ({
  schema: 'glovebox.cell-plan/1',
  role: 'probe',
  class: cellClass,
  image,
  limits: {
    cpu: 1,
    bootCpu: 1,
    memoryBytes: 128 * 1024 * 1024,
    pids: 32,
    scratchBytes: 1024 * 1024,
    scratchInodes: 64,
    openFiles: 64,
    lifetimeMs: probeDeadlineMs,
  },
});

export interface ProbeRequest {
  image: string;
  class: CellClass;
  boot(plan: CellPlan, id: CellId): Promise<Cell>;
  /** Of the cell that was booted. */
  profileOf(cell: Cell): CellProfile;
}

/**
 * Boot a probe cell, read what it saw of itself and judge it.
 *
 * @throws GloveboxError what `boot` throws, `HOST_UNSUPPORTED`, `CELL_BOOT_FAILED`.
 */
export async function probeCell(request: ProbeRequest): Promise<{ facts: CellFacts; results: ConformanceResult[] }> {
  // Cells may be booted elsewhere too. But what is not shown to be in force is not in force.
  if (process.arch !== sysprobeArch) {
    throw new GloveboxError('HOST_UNSUPPORTED', {
      message: `The probe makes system calls of ${sysprobeArch}: what cells on ${process.arch} are kept from cannot be shown.`,
      hint: `Use a host with ${sysprobeArch}. On ${process.arch} no host is called usable yet.`,
    });
  }
  const plan = probePlan(request.image, request.class);
  const watch = watchHostNamespaces();
  const looking = setInterval(watch.look, watchIntervalMs);
  try {
    const cell = await request.boot(plan, newCellId());
    watch.look();
    const report = readProbeReport(await readOutput(cell));
    const hostNamespaces = watch.end(report.document.namespaces.pid);
    return {
      facts: cell.facts,
      results: judgeProbe({ ...report, plan, hostNamespaces, profile: request.profileOf(cell) }),
    };
  } finally {
    clearInterval(looking);
  }
}

async function readOutput(cell: Cell): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  cell.stdout.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > maxProbeBytes) cell.kill('violation');
    else chunks.push(chunk);
  });
  cell.stderr.resume();
  const [end] = await Promise.all([cell.ended, finished(cell.stdout)]);
  if (end.error !== undefined) throw GloveboxError.fromData(end.error);
  // Its last call is one that the filter answers with death.
  if (end.cause !== 'self')
    throw new GloveboxError('CELL_BOOT_FAILED', { message: `The probe cell ended by ${end.cause}.` });
  return Buffer.concat(chunks);
}
