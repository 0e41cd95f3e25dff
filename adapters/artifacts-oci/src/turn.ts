import { mkdir, open, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { GloveboxError } from '@glovebox/contract';
import { isAbandoned, judgeMaker, stagedName } from '@glovebox/engine/staging';

/** Do something in turn. @throws GloveboxError `STORE_BUSY` when the turn does not come in time. */
export type InTurn = <T>(action: () => Promise<T>) => Promise<T>;

/**
 * Do things one after the other, while no other process does one with the same directory.
 *
 * A contender looks until no claim is there but those of the dead, puts its own, a file whose name says who it is, and looks
 * again: its turn has come if it is alone. Whichever of two made its claim later sees the other's, so there are never two.
 * Of those that put theirs at once, the one with the first name keeps its claim, which holds off newcomers, and the others
 * take theirs back: one of any number gets in. There is no lock file to be stolen: a claim of a dead process is dead for
 * ever, and anyone may remove it.
 *
 * @param claims the directory; made when it is not there.
 * @param limitMs from the call until the turn has to come. It always comes where no other process wants one.
 */
export function openTurns(claims: string, limitMs = 60_000): InTurn {
  let last: Promise<unknown> = Promise.resolve();
  return (action) => {
    const until = performance.now() + limitMs;
    // One claim for all that this one is asked for: they need not contend with one another.
    const turn = last.then(() => contend(claims, until, action));
    last = turn.catch(() => {});
    return turn;
  };
}

async function contend<T>(claims: string, until: number, action: () => Promise<T>): Promise<T> {
  await mkdir(claims, { recursive: true, mode: 0o700 });
  const own = stagedName();
  let isPut = false;
  try {
    for (let isLate = false; ; isLate = performance.now() > until) {
      const rivals = await livingClaims(claims, own);
      if (rivals.length === 0) {
        if (isPut) return await action();
        await (await open(join(claims, own), 'wx', 0o600)).close();
        isPut = true;
        continue;
      }
      if (isLate) throw busy(claims, rivals);
      if (isPut && rivals.some((name) => name < own)) {
        await rm(join(claims, own));
        isPut = false;
      }
      await sleep(isPut ? 1 : 2 + Math.random() * 20);
    }
  } finally {
    await rm(join(claims, own), { force: true });
  }
}

/** The claims of others. Those of the dead are removed. */
async function livingClaims(claims: string, own: string): Promise<string[]> {
  const living: string[] = [];
  for (const name of await readdir(claims)) {
    if (name === own) continue;
    if (isAbandoned(name)) await rm(join(claims, name), { force: true });
    else living.push(name);
  }
  return living;
}

function busy(claims: string, rivals: readonly string[]): GloveboxError {
  const message = 'Another process has been writing artifacts for too long.';
  const unknown = rivals.find((name) => judgeMaker(name) === 'unknown');
  if (unknown === undefined) return new GloveboxError('STORE_BUSY', { message });
  // Nobody here can tell that a process of another container has ended, so only a person may say so.
  const path = join(claims, unknown);
  return new GloveboxError('STORE_BUSY', {
    message,
    hint: `Its claim cannot be judged from here. If it ran in a container that is gone, remove ${path} and try again.`,
    details: { claim: path },
  });
}
