import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';

const tools = resolve(import.meta.dirname, '..');
const made: string[] = [];

/** For afterEach: remove every temporary directory that was made since. */
export function removeTemporaries(): void {
  for (const dir of made.splice(0)) rmSync(dir, { recursive: true, force: true });
}

export function temporary(): string {
  const dir = mkdtempSync(join(tmpdir(), 'bootstrap-'));
  made.push(dir);
  return dir;
}

/** A clone in small: the real bootstrap, a lockfile that npm can install offline, and a task of the test's own. */
export function smallClone(options: { task: string; needs: string }): string {
  const root = temporary();
  chmodSync(root, 0o755);
  cpSync(join(tools, 'bootstrap.mjs'), join(root, 'tools/bootstrap.mjs'));
  cpSync(join(tools, 'bootstrap'), join(root, 'tools/bootstrap'), { recursive: true });
  const node = `node-linux-${process.arch}`;
  write(root, 'package.json', JSON.stringify({ name: 'small', version: '1.0.0', workspaces: ['own/*'] }));
  write(root, `own/${node}/package.json`, JSON.stringify({ name: node, version: '1.0.0' }));
  write(
    root,
    'package-lock.json',
    JSON.stringify({
      name: 'small',
      version: '1.0.0',
      lockfileVersion: 3,
      requires: true,
      packages: {
        '': { name: 'small', version: '1.0.0', workspaces: ['own/*'] },
        [`node_modules/${node}`]: { resolved: `own/${node}`, link: true },
        [`own/${node}`]: { version: '1.0.0' },
      },
    }),
  );
  mkdirSync(join(root, `own/${node}/bin`));
  symlinkSync(process.execPath, join(root, `own/${node}/bin/node`));
  write(root, 'tools/verify.ts', options.task);
  const file = join(root, 'tools/bootstrap/needs.mjs');
  const text = readFileSync(file, 'utf8');
  const replaced = text
    .replace(/export const needs = \[[\s\S]*?\n\];/, `export const needs = ${options.needs};`)
    .replace(/export const testNeeds = \[[\s\S]*?\n\];/, 'export const testNeeds = [];');
  if (replaced === text) throw new Error('needs.mjs has no table to replace');
  writeFileSync(file, replaced);
  return root;
}

export function write(root: string, path: string, text: string) {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text);
}

/** As `npm test` would, but for the environment, which is only what is given. */
export function bootstrap(root: string, argv: string[], env: NodeJS.ProcessEnv = {}, uid?: number) {
  return spawnSync(process.execPath, [join(root, 'tools/bootstrap.mjs'), ...argv], {
    env: { PATH: process.env.PATH, HOME: root, ...env },
    encoding: 'utf8',
    ...(uid === undefined ? {} : { uid, gid: uid }),
  });
}

export const nothingMissing = '[]';
export const missingPackage =
  "[{ what: 'the tool', package: 'no-such-package-of-glovebox', commands: ['no-such-command'] }]";

/** Runs the bootstrap on a pseudo-terminal, types the answer when the question has come, gives all that it shows. */
export function atTerminal(root: string, answer: string) {
  const command = `${process.execPath} ${join(root, 'tools/bootstrap.mjs')} verify`;
  const typing = join(root, 'typing');
  writeFileSync(typing, answer);
  // A terminal drops what is typed before its reader is there: wait for the question.
  const script = `(while ! grep -q 'go ahead' ${root}/screen 2>/dev/null; do sleep 0.05; done; cat ${typing}; while [ ! -e ${root}/done ]; do sleep 0.05; done) | (script -qefc '${command}' ${root}/screen; code=$?; touch ${root}/done; exit $code)`;
  const { status } = spawnSync('sh', ['-c', script], {
    env: { PATH: process.env.PATH, HOME: root, TERM: 'dumb' },
    encoding: 'utf8',
  });
  return { status, stdout: readFileSync(join(root, 'screen'), 'utf8') };
}

export function start(root: string, argv: string[]) {
  const child = spawn(process.execPath, [join(root, 'tools/bootstrap.mjs'), ...argv], {
    env: { PATH: process.env.PATH, HOME: root },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let text = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
    });
  }
  return { child, output: () => text };
}

export function exitOfChild(child: ChildProcess): Promise<number | null> {
  return new Promise((done) => child.once('close', done));
}

export async function until(holds: () => boolean) {
  while (!holds()) await new Promise((done) => setTimeout(done, 20));
}
