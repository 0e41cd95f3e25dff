import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { inMountNamespace } from '../../../test/support/altered-host.ts';
import { mountTable, namespacedBindsOf, requireMounted } from './launch-mounts.ts';

const dir = mkdtempSync(join(tmpdir(), 'glovebox-mounts-'));
afterAll(() => rmSync(dir, { recursive: true }));

const places = {
  image: join(dir, 'image'),
  bundle: join(dir, 'bundle'),
  stage: join(dir, 'stage'),
  at: join(dir, 'at'),
  else: join(dir, 'else'),
};
for (const path of [...Object.values(places), join(places.stage, 'rootfs'), join(places.stage, 'bundle')])
  mkdirSync(path, { recursive: true });
writeFileSync(join(places.image, 'of-the-image'), '');
const binds = namespacedBindsOf(places.image, places.bundle, places.stage, places.at);
const table = join(dir, 'fstab');
writeFileSync(table, mountTable(binds));
const mountAll = `mount -n -a -T ${table}`;

/** What a process says that a shell becomes after it has changed its own mounts. */
function see(script: string, code: string): unknown {
  const [program = '', ...args] = inMountNamespace(script);
  const text = `
    import { readdirSync } from 'node:fs';
    import { requireMounted } from ${JSON.stringify(resolve(import.meta.dirname, 'launch-mounts.ts'))};
    const check = (binds) => { try { requireMounted(process.pid, binds); return 'mounted'; } catch (error) { return error.code; } };
    const binds = ${JSON.stringify(binds)};
    console.log(JSON.stringify(${code}));`;
  const said = execFileSync(program, [...args, process.execPath, '--input-type=module', '-e', text], {
    encoding: 'utf8',
  });
  return JSON.parse(said);
}

describe('where something is mounted already on the place that the launcher mounts on', () => {
  it('makes nothing in it, follows no link of it, and shows ours', () => {
    const script = [
      `mount -t tmpfs -o mode=1777 tmpfs ${places.at}`,
      `ln -s ${places.else} ${places.at}/rootfs`,
      `ln -s ${places.else} ${places.at}/bundle`,
      mountAll,
    ].join('\n');
    const at = JSON.stringify(places.at);
    expect(see(script, `[check(binds), readdirSync(${at}).sort(), readdirSync(${at} + '/rootfs')]`)).toEqual([
      'mounted',
      ['bundle', 'rootfs'],
      ['of-the-image'],
    ]);
    const alone = `mount -t tmpfs tmpfs ${places.at}\n${mountAll}\numount ${places.at}/rootfs ${places.at}/bundle\numount ${places.at}`;
    expect(see(alone, `readdirSync(${at})`)).toEqual([]);
    expect(see(mountAll, `readdirSync(${JSON.stringify(places.else)})`)).toEqual([]);
  });

  it.each([
    ['nothing', ''],
    ['another directory', `${mountAll}\nmount --bind ${places.else} ${places.at}/rootfs`],
    [
      'the image, and it can be written',
      `mount --bind ${places.image} ${places.image}\n${mountAll}\nmount -o remount,bind,rw ${places.at}/rootfs`,
    ],
    ['something over all of it', `${mountAll}\nmount -t tmpfs tmpfs ${places.at}`],
  ])('refuses to go on where the launcher is shown %s', (_, script) => {
    expect(see(script, 'check(binds)')).toBe('HOST_UNSUPPORTED');
  });

  it('does not take what `mount -a` passes over as mounted for what it was to mount', () => {
    const own = [{ source: places.image, target: places.at, options: ['ro'] as const }];
    writeFileSync(join(dir, 'own'), mountTable(own));
    const all = `mount -n -a -T ${join(dir, 'own')}`;
    const check = `check(${JSON.stringify(own)})`;
    expect(see(all, check)).toBe('mounted');
    expect(see(`mount --bind ${places.image} ${places.at}\n${all}`, check)).toBe('HOST_UNSUPPORTED');
  });
});

it('cannot tell, and refuses, where there is no such process', () => {
  for (const pid of [undefined, 0])
    expect(() => requireMounted(pid, binds)).toThrow(expect.objectContaining({ code: 'HOST_UNSUPPORTED' }));
});
