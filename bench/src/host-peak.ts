import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { environment } from './environment.ts';

const launcher = fileURLToPath(new URL('../../apps/cli/bin/glovebox.mjs', import.meta.url));
const lookMs = 10;

/**
 * The most memory that the process of a command held at a time, in MB: the one that does the work, as the launcher starts
 * it. The kernel keeps the highest (`VmHWM`), so of a command nothing but its last milliseconds is missed.
 */
export async function hostPeak(args: readonly string[], dataDir: string): Promise<number> {
  const child = spawn(process.execPath, [launcher, ...args, '--data-dir', dataDir, '--quiet'], {
    env: { ...environment, HOME: dataDir },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let said = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      said += text;
    });
  let kilobytes = 0;
  const timer = setInterval(() => {
    kilobytes = Math.max(kilobytes, peakOf(child.pid));
  }, lookMs);
  const [code] = (await once(child, 'close')) as [number | null];
  clearInterval(timer);
  if (code !== 0) throw new Error(`exit ${code}: ${said.slice(0, 300)}`);
  if (kilobytes === 0) throw new Error('the process was never seen');
  return (kilobytes * 1024) / 1e6;
}

/** Of the child of the launcher; 0 where it is not there yet, or no more. */
function peakOf(launcherPid: number | undefined): number {
  try {
    const [pid] = readFileSync(`/proc/${launcherPid}/task/${launcherPid}/children`, 'utf8').split(' ');
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0);
  } catch {
    return 0;
  }
}
