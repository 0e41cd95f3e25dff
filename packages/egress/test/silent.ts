import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

const script = `
const server = require('node:net').createServer();
server.listen({ host: process.argv[1], port: Number(process.argv[2]), backlog: 1 }, () => console.log(server.address().port));
`;

/** An address that answers no attempt to connect: who listens there is stopped, and its queue is full. */
export async function openSilent(host: string, port: number): Promise<{ port: number; close(): Promise<void> }> {
  const child = spawn(process.execPath, ['-e', script, host, String(port)], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [said] = (await once(child.stdout, 'data')) as [Buffer];
  child.kill('SIGSTOP');
  const listening = Number(said.toString());
  const filling = Array.from({ length: 4 }, () => connect(listening, host).on('error', () => {}));
  await sleep(100);
  return {
    port: listening,
    async close() {
      for (const socket of filling) socket.destroy();
      const exited = once(child, 'exit');
      child.kill('SIGKILL');
      await exited;
    },
  };
}
