import { mkdir, open, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { GloveboxError } from '@glovebox/contract';
import { isAbandoned, stagedName } from '@glovebox/engine/staging';

/**
 * Do something while no other process, and nothing else in this one, does it with the same directory.
 *
 * Every contender puts a claim, a file whose name says who it is, into the directory and then looks: its turn has come if
 * no other claim is there but those of the dead, else it takes its own back and tries again. Whichever of two made its
 * claim later sees the other's, so there are never two. There is no lock file to be stolen: a claim of a dead process is
 * dead for ever, and anyone may remove it.
 *
 * @param claims the directory; made when it is not there.
 * @throws GloveboxError `STORE_BUSY` when it does not come within `limitMs`.
 */
export async function inTurn<T>(claims: string, action: () => Promise<T>, limitMs = 60_000): Promise<T> {
  await mkdir(claims, { recursive: true, mode: 0o700 });
  const claim = join(claims, stagedName());
  const until = performance.now() + limitMs;
  for (;;) {
    await (await open(claim, 'wx', 0o600)).close();
    try {
      if (!(await hasRival(claims, claim))) return await action();
    } finally {
      await rm(claim, { force: true });
    }
    if (performance.now() > until) {
      throw new GloveboxError('STORE_BUSY', { message: `Another process has been writing artifacts for too long.` });
    }
    await sleep(2 + Math.random() * 20);
  }
}

async function hasRival(claims: string, own: string): Promise<boolean> {
  let found = false;
  for (const name of await readdir(claims)) {
    const path = join(claims, name);
    if (path === own) continue;
    if (isAbandoned(name)) await rm(path, { force: true });
    else found = true;
  }
  return found;
}
