import { spawnSync } from 'node:child_process';
import type { CellPlan } from '@glovebox/contract';
import type { CelldUser } from './celld.ts';

const program = `
  import fs from 'node:fs';
  import { connect } from 'node:net';
  import { createCelldDriver } from '@glovebox/cell-celld';
  import { newCellId } from '@glovebox/contract';
  const { socketPath, celldUid, plan, code, tries } = JSON.parse(process.argv[1]);
  const actions = {
    read: (path) => fs.closeSync(fs.openSync(path)),
    write: (path) => fs.closeSync(fs.openSync(path, 'a')),
    list: (path) => fs.readdirSync(path),
    make: (path) => fs.mkdirSync(path),
    signal: (pid) => process.kill(pid, 0),
    connect: (path) => new Promise((resolve, reject) => connect(path).once('connect', function () { this.destroy(); resolve(); }).once('error', reject)),
  };
  const result = { uid: process.getuid(), groups: process.getgroups() };
  let cell;
  if (socketPath) {
    try {
      cell = await createCelldDriver({ socketPath, celldUid }).boot(plan, newCellId());
      if (code) cell.channel.write(code + '\\0');
      const chunk = await new Promise((resolve) => cell.channel.once('data', resolve));
      result.heard = code ? JSON.parse(chunk) : chunk.length > 0;
    } catch (error) { result.heard = error.code; }
  }
  for (const [name, action, path] of tries) {
    try { await actions[action](path); result[name] = 'ok'; } catch (error) { result[name] = error.code; }
  }
  cell?.kill('done');
  result.cause = (await cell?.ended)?.cause;
  console.log(JSON.stringify(result));
`;

export type Try = [
  name: string,
  action: 'read' | 'write' | 'list' | 'make' | 'signal' | 'connect',
  path: string | number,
];

export interface TriesAs {
  /** Boot a cell of this plan first, hear from it, and have it while the rest is tried. */
  cell?: { socketPath: string; celldUid?: number; plan: CellPlan; code?: string };
  tries: readonly Try[];
}

/** Tries things in a process of another user, without further groups, and tells by name how each went: `ok` or its errno. */
export function tryAs(user: CelldUser, { cell, tries }: TriesAs): Record<string, unknown> {
  const given = JSON.stringify({ ...cell, tries });
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', program, given], {
    ...user,
    cwd: import.meta.dirname,
    env: { PATH: '/usr/bin:/bin' },
    encoding: 'utf8',
    timeout: 50_000,
  });
  if (stdout === '') throw new Error(stderr);
  return JSON.parse(stdout) as Record<string, unknown>;
}
