import { randomBytes } from 'node:crypto';
import dgram from 'node:dgram';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Json } from '@glovebox/contract';
import { type Engine, runTrial, type TrialResult } from '@glovebox/engine';
import type { Config } from '../../apps/cli/src/config.ts';
import { localActor, openLocalEngine, type Places } from '../../apps/cli/src/local-engine.ts';
import { differences, readResidue } from '../../test/support/residue.ts';
import { encodingsOf } from './encodings.ts';
import { type Sabotage, weakened } from './sabotage.ts';

export { type Sabotage, sabotages } from './sabotage.ts';

export interface Verdict {
  name: string;
  contained: boolean;
  why: string;
}

/** What a hostile node's run is judged by. */
interface Trial {
  name: string;
  /** Which sabotage opens a hole for this one. */
  weakness: Sabotage;
  input: (trap: Trap) => Json;
  /** What the node got that it must not have; undefined when nothing. */
  breach: (result: TrialResult, trap: Trap) => string | undefined;
  /** How the attempt must end. */
  states: readonly string[];
}

const knockMs = 5_000;
/** Longer than the node's own deadline of 1.5 s and than the grace after a cancel. */
const patienceMs = 8_000;

const trials: readonly Trial[] = [
  {
    name: 'canary-hunter',
    weakness: 'mount',
    input: ({ canaryPath, marker }) => ({ path: canaryPath, marker }),
    breach: () => undefined,
    states: ['SUCCEEDED'],
  },
  {
    name: 'network-prober',
    weakness: 'net',
    input: ({ tcpPort, udpPort, unixPath, wireSecret }) => ({ tcpPort, udpPort, unixPath, secret: wireSecret }),
    breach: (result, { arrived }) => {
      const { reached } = result.output as { reached: string[] };
      if (arrived.length > 0) return `the host heard it: ${arrived.join(', ')}`;
      return reached.length > 0 ? `it reached ${reached.join(', ')}` : undefined;
    },
    states: ['SUCCEEDED'],
  },
  {
    name: 'never-ends',
    weakness: 'timeout',
    input: () => ({}),
    breach: () => undefined,
    states: ['TIMED_OUT'],
  },
];

/**
 * Run the three hostile nodes, each watched from outside. Contained means: the canary is in no output, log or file in
 * any encoding; the attempt ended as it must; what the host had before is what it has after.
 */
export async function containAll(
  config: Config,
  places: Places,
  sabotage: Sabotage | undefined,
  say: (text: string) => void,
): Promise<Verdict[]> {
  const verdicts: Verdict[] = [];
  for (const trial of trials) {
    const trap = await setTrap();
    try {
      const weak = sabotage === trial.weakness ? weakened(sabotage, trap.dir) : {};
      const { engine, close } = await openLocalEngine(config, weak, places);
      try {
        verdicts.push(await contain(engine, join(config.dataDir, 'run'), trial, trap));
      } finally {
        await close();
      }
    } finally {
      await trap.remove();
    }
    say(`  · ${trial.name} is over`);
  }
  return verdicts;
}

async function contain(engine: Engine, runDirectory: string, trial: Trial, trap: Trap): Promise<Verdict> {
  const packageDir = fileURLToPath(new URL(`./nodes/${trial.name}`, import.meta.url));
  const verdict = (contained: boolean, why: string): Verdict => ({ name: trial.name, contained, why });
  const scope = { instance: engine.signer.instance, runDirectory };
  const before = readResidue(scope);
  const abort = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const result = await runTrial(
    engine,
    {
      project: 'default',
      actor: localActor(),
      packageDir,
      inputText: JSON.stringify(trial.input(trap)),
      configText: '{}',
    },
    {
      // The patience of the onlooker begins where the node's own time does.
      onStep: (name) => {
        if (name === 'run')
          timer = setTimeout(
            () => abort.abort('the demo lost patience'),
            patienceMs + (trial.name === 'never-ends' ? 0 : 25_000),
          );
      },
    },
    abort.signal,
  );
  clearTimeout(timer);
  const left = differences(before, readResidue(scope));
  const attempt = (await engine.store.get('default', result.run))?.attempts.at(-1);
  const logs = await engine.store.logs(attempt?.id ?? '');
  const files = await Promise.all(result.files.map((file) => bytesOf(engine.blobs.read(file.digest))));
  const everything = Buffer.concat([Buffer.from(JSON.stringify([result, logs])), ...files]).toString('latin1');
  const leaked = encodingsOf(trap.canary).find(({ text }) => everything.includes(text));
  if (leaked) return verdict(false, `the canary came out (${leaked.name})`);
  if (!trial.states.includes(result.state))
    return verdict(false, `it ended ${result.state} (${result.error?.message}), not ${trial.states.join(' or ')}`);
  const breach = trial.breach(result, trap);
  if (breach !== undefined) return verdict(false, breach);
  if (left.length > 0) return verdict(false, `it left ${left.join('; ')}`);
  return verdict(true, describe(trial, result));
}

function describe(trial: Trial, result: TrialResult): string {
  if (trial.name === 'canary-hunter')
    return `looked in ${(result.output as { looked: number }).looked} places and found nothing`;
  if (trial.name === 'network-prober') return `tried ${(result.output as { tried: number }).tried} ways, none led out`;
  return `killed at its deadline, ${result.state} after ${Math.round(result.phasesMs.load + result.phasesMs.run)} ms`;
}

interface Trap {
  dir: string;
  canaryPath: string;
  marker: string;
  /** The secret behind the marker. */
  canary: string;
  tcpPort: number;
  udpPort: number;
  unixPath: string;
  wireSecret: string;
  /** What the listeners heard. */
  arrived: string[];
  remove(): Promise<void>;
}

/** A canary file that any process of the host may read, and listeners that note whoever knocks. */
async function setTrap(): Promise<Trap> {
  const dir = await mkdtemp(join(tmpdir(), 'glovebox-canary-'));
  const { chmod } = await import('node:fs/promises');
  await chmod(dir, 0o755);
  const marker = 'GLOVEBOX-CANARY:';
  const canary = randomBytes(24).toString('hex');
  const canaryPath = join(dir, 'canary.txt');
  await writeFile(canaryPath, `${marker}${canary}\n`, { mode: 0o644 });
  const arrived: string[] = [];
  const tcp = net.createServer((socket) => {
    arrived.push('tcp');
    socket.on('error', () => undefined);
    socket.end();
  });
  const unix = net.createServer((socket) => {
    arrived.push('unix');
    socket.on('error', () => undefined);
    socket.end();
  });
  const udp = dgram.createSocket('udp4');
  udp.on('message', () => arrived.push('udp'));
  const unixPath = join(dir, 'socket');
  const remove = async () => {
    for (const listener of [tcp, unix, udp]) {
      try {
        listener.close();
      } catch {
        // It never listened.
      }
    }
    await rm(dir, { recursive: true, force: true });
  };
  try {
    const heard = Promise.all([once(tcp, 'listening'), once(unix, 'listening'), once(udp, 'listening')]);
    tcp.listen(0, '127.0.0.1');
    unix.listen(unixPath);
    udp.bind(0, '127.0.0.1');
    await heard;
    await chmod(unixPath, 0o666);
    // A trap that nobody can spring proves nothing: read and knock once on each from the host.
    if (!(await readFile(canaryPath, 'utf8')).includes(canary)) throw new Error('the canary file is not readable');
    await once(net.connect((tcp.address() as net.AddressInfo).port, '127.0.0.1'), 'close');
    await once(net.connect(unixPath), 'close');
    await knockByDatagram(udp);
    const knocks = arrived.splice(0).join();
    if (knocks !== 'tcp,unix,udp') throw new Error(`the listeners heard ${knocks || 'nothing'} of three knocks`);
  } catch (error) {
    // A listener left open would keep the process from ending.
    await remove();
    throw error;
  }
  return {
    dir,
    canaryPath,
    marker,
    canary,
    tcpPort: (tcp.address() as net.AddressInfo).port,
    udpPort: udp.address().port,
    unixPath,
    wireSecret: randomBytes(8).toString('hex'),
    arrived,
    remove,
  };
}

/** Until it is heard. On its way within one host a datagram is lost only where a filter drops it. */
async function knockByDatagram(listener: dgram.Socket): Promise<void> {
  const knock = dgram.createSocket('udp4');
  try {
    const heard = once(listener, 'message', { signal: AbortSignal.timeout(knockMs) });
    knock.send('knock', listener.address().port, '127.0.0.1');
    await heard;
  } finally {
    knock.close();
  }
}

async function bytesOf(source: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of source) chunks.push(chunk);
  return Buffer.concat(chunks);
}
