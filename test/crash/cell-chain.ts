import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Cell, CellDriver, CellEnd } from '@glovebox/cell';
import { type CellPlan, GloveboxError, newCellId } from '@glovebox/contract';
import { argumentsOf, childrenOf, killIfThere, type TreeProcess, treeOf } from '../support/process-tree.ts';

/** Which process of a launch is killed, counted from ours: our child, its child, or the one that has no child. */
export type Link = 'first' | 'second' | 'last';
export const links: readonly Link[] = ['first', 'second', 'last'];

/** From when the time to the kill counts: the launcher being there, or the cell having answered. */
export type Since = 'launch' | 'answer';

export interface Killed {
  /** The program that the process ran at that moment. */
  name: string;
  /** How the boot or the cell ended. `missed`: the process was about to end by itself, and the cell runs without it. */
  end: string;
}

/**
 * Boot a cell and kill one process of its chain: in the middle of its launch, or while it runs.
 *
 * @throws what is no typed end.
 */
export async function killLink(
  driver: CellDriver,
  plan: CellPlan,
  link: Link,
  { since, delayMs }: { since: Since; delayMs: number },
): Promise<Killed> {
  const id = newCellId();
  const booting = driver.boot(plan, id).then(
    (cell) => ({ cell }),
    (error: unknown) => ({ error }),
  );
  const first = await launcherOf(id);
  if (since === 'answer') {
    const booted = await booting;
    if ('error' in booted) throw booted.error;
    await answerOf(booted.cell);
  }
  await sleep(delayMs);
  const victim = choose(first, link);
  if (!killIfThere(victim.pid)) throw new Error(`${victim.name} was gone before it was killed`);
  const booted = await booting;
  return { name: victim.name, end: 'cell' in booted ? await endOf(booted.cell) : codeOf(booted.error) };
}

/** The harness of the bench, which says what it is told to say. */
async function answerOf(cell: Cell): Promise<void> {
  cell.channel.write('say(1)\0');
  await once(cell.channel, 'data');
}

/** Our own child for that cell: its arguments name the cell from the moment on in which it is a program of its own. */
async function launcherOf(id: string): Promise<number> {
  for (const end = performance.now() + 20_000; performance.now() < end; ) {
    const found = childrenOf(process.pid).find((pid) => argumentsOf(pid).includes(id));
    if (found !== undefined) return found;
    await new Promise(setImmediate);
  }
  throw new Error('the launcher was never seen');
}

function choose(first: number, link: Link): TreeProcess {
  const tree = treeOf(first);
  const second = childrenOf(first)[0];
  const chosen = link === 'first' ? tree[0] : link === 'second' ? tree.find(({ pid }) => pid === second) : tree.at(-1);
  const victim = chosen ?? tree.at(-1);
  if (victim === undefined) throw new Error('the launcher has ended by itself');
  return victim;
}

async function endOf(cell: Cell): Promise<string> {
  for (const stream of [cell.channel, cell.stdout, cell.stderr]) stream.resume();
  const answered = answerOf(cell).then(() => 'missed' as const);
  const end = await Promise.race([cell.ended, answered.catch(() => cell.ended)]);
  if (end === 'missed') {
    // Whether it was: the answer may have been under way when the cell was killed.
    const late = await Promise.race([cell.ended, sleep(500).then(() => 'missed' as const)]);
    cell.kill('done');
    await cell.ended;
    return late === 'missed' ? 'missed' : spell(late);
  }
  return spell(end);
}

/** A cell that is told to have come up tells of an error only where its runtime failed, or where something is left of it. */
const spell = ({ cause, error }: CellEnd): string => (error === undefined ? cause : `${cause} ${error.code}`);

function codeOf(error: unknown): string {
  if (error instanceof GloveboxError) return error.code;
  throw error;
}
