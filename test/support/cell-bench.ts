import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Cell, type CellDriver, type CellEnd, planRunCell } from '@glovebox/cell';
import { createOciDriver, type OciDriverOptions } from '@glovebox/cell-oci';
import {
  type CellClass,
  type CellPlan,
  type Digest,
  type InstanceId,
  newCellId,
  newInstanceId,
} from '@glovebox/contract';
import { makeCellRootfs } from './cell-rootfs.ts';
import { noteInstance } from './instances.ts';
import { type Residue, readResidue } from './residue.ts';

/**
 * Evaluates what it is sent over the channel, one piece of code after the other; `say` answers a line of JSON. It waits
 * for the next piece with its event loop blocked, until a piece calls `leave`. It is no part of the product.
 *
 * @param writeFd where what it says goes.
 */
export const benchHarness = (writeFd = 3): string => `
const fs = process.getBuiltinModule('node:fs');
const channel = 3;
let left = false;
globalThis.say = (value) => void fs.writeSync(${writeFd}, JSON.stringify(value) + '\\n');
globalThis.leave = () => { left = true; };
globalThis.require = require;
const next = () => {
  let code = '';
  const bytes = Buffer.alloc(65536);
  while (!code.endsWith('\\0')) {
    const count = fs.readSync(channel, bytes);
    if (count === 0) process.reallyExit(0);
    code += bytes.toString('utf8', 0, count);
  }
  for (const piece of code.slice(0, -1).split('\\0')) (0, eval)(piece);
  if (!left) setImmediate(next);
};
next();
`;

const MiB = 1024 * 1024;
export const testImage = `sha256:${'0'.repeat(64)}` as Digest;

export interface BenchCell extends Cell {
  /** Evaluate in the cell, in its global scope. */
  run(code: string): void;
  /** The next line of JSON that the cell says, or how it ended. */
  heard(): Promise<unknown>;
  output(): string;
}

/** A real root directory, a real driver and a data directory of its own, for tests of cells. */
export interface CellBench {
  home: string;
  instance: InstanceId;
  runDirectory: string;
  rootfs: string;
  driver: CellDriver;
  /** Another driver over the same directories. */
  open(options?: Partial<OciDriverOptions>): CellDriver;
  plan(limits?: Partial<CellPlan['limits']>, role?: CellPlan['role']): CellPlan;
  boot(limits?: Partial<CellPlan['limits']>, driver?: CellDriver, cellClass?: CellClass): Promise<BenchCell>;
  residue(): Residue;
  /** Kill what a failed test left alive, so that it does not fail the next one too. */
  settle(): Promise<void>;
  remove(): void;
}

/** A plan with room for a small program, changed as told. */
export function benchPlan(
  image: Digest,
  limits: Partial<CellPlan['limits']> = {},
  role: CellPlan['role'] = 'run',
): CellPlan {
  const base = planRunCell(
    image,
    {
      cpu: 1,
      memoryBytes: 128 * MiB,
      pids: 64,
      timeoutMs: 30_000,
      outputBytes: MiB,
      logBytes: MiB,
      filesBytes: 0,
      filesCount: 0,
      scratchBytes: MiB,
    },
    'ns',
  );
  return { ...base, role, limits: { ...base.limits, ...limits } };
}

export function openCellBench(given: Partial<OciDriverOptions> = {}): CellBench {
  // As a data directory: only root can enter, so the cell's uid must reach its root some other way.
  const home = mkdtempSync(join(tmpdir(), 'glovebox-cells-'));
  const runDirectory = join(home, 'run');
  const rootfs = makeCellRootfs(join(home, 'rootfs'), benchHarness());
  const instance = given.instance ?? newInstanceId();
  noteInstance(instance, runDirectory);
  const open = (options: Partial<OciDriverOptions> = {}): CellDriver =>
    createOciDriver({ instance, runDirectory, rootfsOf: () => rootfs, ...given, ...options });
  const driver = open();
  const booted: Cell[] = [];
  const plan: CellBench['plan'] = (limits, role) => benchPlan(testImage, limits, role);
  return {
    home,
    instance,
    runDirectory,
    rootfs,
    driver,
    open,
    plan,
    boot: async (limits = {}, by = driver, cellClass = 'ns') => {
      const cell = await by.boot({ ...plan(limits), class: cellClass }, newCellId());
      booted.push(cell);
      return listenTo(cell);
    },
    settle: async () => {
      for (const cell of booted.splice(0)) {
        cell.kill('done');
        await cell.ended;
      }
    },
    residue: () => readResidue({ instance, runDirectory }),
    remove: () => rmSync(home, { recursive: true, force: true }),
  };
}

export function listenTo(cell: Cell): BenchCell {
  let output = '';
  let text = '';
  const lines: unknown[] = [];
  const waiting: ((value: unknown) => void)[] = [];
  const deliver = (value: unknown): void => {
    const next = waiting.shift();
    if (next === undefined) lines.push(value);
    else next(value);
  };
  for (const stream of [cell.stdout, cell.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      output += chunk.toString();
    });
  }
  cell.channel.on('data', (chunk: Buffer) => {
    text += chunk.toString();
    for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n')) {
      deliver(JSON.parse(text.slice(0, end)));
      text = text.slice(end + 1);
    }
  });
  void cell.ended.then((end: CellEnd) => {
    for (const next of waiting.splice(0)) next({ ended: end, output });
  });
  return Object.assign(Object.create(cell) as Cell, {
    run: (code: string) => void cell.channel.write(`${code}\0`),
    heard: () =>
      new Promise<unknown>((resolve) => {
        if (lines.length > 0) resolve(lines.shift());
        else waiting.push(resolve);
      }),
    output: () => output,
  });
}

/** Poll for a condition that another process brings about. */
export async function eventually(condition: () => boolean, timeoutMs = 20_000): Promise<boolean> {
  for (const end = Date.now() + timeoutMs; Date.now() < end; await sleep(20)) if (condition()) return true;
  return condition();
}
