import { mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { instancesVariable, notedInstances, notedRunDirectories } from './instances.ts';
import { differences, listCellDirectories, type Residue, readResidue } from './residue.ts';

/** A test that fails in the middle leaves what the next sweep finds dead; the kernel needs a moment for it. */
const patienceMs = 5000;

/**
 * For `globalSetup` of vitest: a run of tests in whose end anything of its instances is left on this host has failed, on
 * top of what each file looks at: what cells leave, directories of cells in run directories that are still there, and
 * namespaces that a process holds which a test has started. Containers are not looked at here: those of tests are in engines
 * of their own, whose storage and processes go with them. Of other instances nothing is judged, since other runs may go on at the same time; where
 * `CI` is set there are none, and nothing at all may be left that was not there before.
 */
export function setup(): () => Promise<void> {
  const dir = mkdtempSync(join(tmpdir(), 'glovebox-instances-'));
  const file = join(dir, 'instances');
  writeFileSync(file, '');
  process.env[instancesVariable] = file;
  const before = isAlone() ? kept(readResidue({})) : undefined;
  return async () => {
    try {
      const left = await settled(() => [
        ...leftOf(notedInstances(file)),
        ...notedRunDirectories(file).flatMap((path) => listCellDirectories(path).map((name) => `directories: ${name}`)),
        ...namespacesOfTests(file),
        ...leftSince(before),
      ]);
      if (left.length > 0) throw new Error(`The tests have left on this host:\n${[...new Set(left)].join('\n')}`);
    } finally {
      rmSync(dir, { recursive: true });
    }
  };
}

const isAlone = (): boolean => !['', '0', 'false', undefined].includes(process.env.CI);

const nothing: Residue = { processes: [], cgroups: [], mounts: [], namespaces: [], directories: [], claims: [] };

const leftOf = (instances: readonly string[]): string[] =>
  instances.length === 0 ? [] : differences(nothing, readResidue({ instance: instances }));

const leftSince = (before: Residue | undefined): string[] =>
  before === undefined ? [] : differences(before, kept(readResidue({})));

/** Those other than ours of processes that have inherited the name of the file, which nobody else's have. */
function namespacesOfTests(file: string): string[] {
  const inherited = `${instancesVariable}=${file}`;
  const own = new Set(namespacesOf('self'));
  return readdirSync('/proc')
    .filter((pid) => /^\d+$/.test(pid))
    .flatMap((pid) => {
      try {
        if (!readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0').includes(inherited)) return [];
        const name = readFileSync(`/proc/${pid}/comm`, 'utf8').trim();
        return namespacesOf(pid)
          .filter((namespace) => !own.has(namespace))
          .map((namespace) => `namespaces: ${namespace} of ${pid} ${name}`);
      } catch {
        // It has ended, and holds nothing.
        return [];
      }
    });
}

const namespacesOf = (pid: string): string[] =>
  readdirSync(`/proc/${pid}/ns`)
    .filter((kind) => !kind.endsWith('_for_children'))
    .map((kind) => readlinkSync(`/proc/${pid}/ns/${kind}`));

/** What the system itself mounts and starts meanwhile is not the tests'; namespaces of theirs are told by other means. */
const kept = (residue: Residue): Residue => ({
  ...residue,
  mounts: residue.mounts.filter((path) => path.includes('glovebox')),
  namespaces: [],
});

async function settled(look: () => string[]): Promise<string[]> {
  for (const end = performance.now() + patienceMs; ; await sleep(100)) {
    const left = look();
    if (left.length === 0 || performance.now() > end) return left;
  }
}
