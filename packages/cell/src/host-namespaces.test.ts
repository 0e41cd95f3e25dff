import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readlinkSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { watchHostNamespaces } from './host-namespaces.ts';

/** A process with an ipc namespace of its own, until it is told to end. */
async function holdNamespace() {
  const child = spawn('unshare', ['--ipc', 'sh', '-c', 'echo up; read line'], { stdio: ['pipe', 'pipe', 'inherit'] });
  await once(child.stdout, 'data');
  return {
    name: readlinkSync(`/proc/${child.pid}/ns/ipc`),
    async end() {
      child.stdin.end();
      await once(child, 'exit');
    },
  };
}

describe('namespaces of the host', () => {
  it('are those that others held all the time, and not what came or went meanwhile', async () => {
    const [lasting, leaving] = [await holdNamespace(), await holdNamespace()];
    const watch = watchHostNamespaces();
    await leaving.end();
    const coming = await holdNamespace();
    const { held } = watch.end();
    for (const one of [lasting, coming]) await one.end();
    expect(held.ipc).toContain(lasting.name);
    expect(held.ipc).not.toContain(leaving.name === coming.name ? '' : leaving.name);
    expect(held.ipc).not.toContain(coming.name);
  });

  it('have the first ones of the machine among them, whoever can be seen', () => {
    const { held } = watchHostNamespaces().end();
    expect(held).toMatchObject({
      cgroup: expect.arrayContaining(['cgroup:[4026531835]']),
      ipc: expect.arrayContaining(['ipc:[4026531839]']),
      pid: expect.arrayContaining(['pid:[4026531836]']),
      user: expect.arrayContaining(['user:[4026531837]']),
      uts: expect.arrayContaining(['uts:[4026531838]']),
    });
  });

  it('are those of the host of a cell where one of its processes was seen, and not where none was', () => {
    const watch = watchHostNamespaces();
    watch.look();
    const elsewhere = 'no process of the cell was seen';
    expect(watch.end(readlinkSync('/proc/self/ns/pid')).unseen ?? '').not.toContain(elsewhere);
    expect(watch.end('pid:[1]').unseen).toContain(elsewhere);
  });

  it('were not seen whole by who may not look at the processes of others', () => {
    const script = `
      process.setgroups([]); process.setgid(65534); process.setuid(65534);
      const { watchHostNamespaces } = await import(${JSON.stringify(modulePath)});
      console.log(JSON.stringify(watchHostNamespaces().end()));`;
    const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' });
    expect(JSON.parse(stdout || JSON.stringify({ stderr }))).toMatchObject({
      held: { ipc: expect.arrayContaining(['ipc:[4026531839]']) },
      unseen: expect.stringMatching(/^namespaces may not be read of processes: \d+$/),
    });
  });
});

const modulePath = fileURLToPath(new URL('./host-namespaces.ts', import.meta.url));
