import { spawn } from 'node:child_process';
import { once } from 'node:events';

/** A network of its own in which every packet is captured, whoever sends it, and from which none gets out. */
export interface CapturedNetwork {
  /** A program and arguments that another is started with, so that it has this network and no other. */
  readonly through: readonly string[];
  /** Kill what captures, and read what it has. @returns a line each, as tcpdump prints them. */
  end(): Promise<string[]>;
}

/**
 * Two ends of one cable, both in here: what is sent to any address of the world goes in at one and is seen at both. IPv6 is
 * off, since the kernel itself would speak it.
 */
const setUp = `
echo 1 > /proc/sys/net/ipv6/conf/all/disable_ipv6
ip link set lo up
ip link add inner type veth peer name outer
ip addr add 198.51.100.1/24 dev inner
ip link set inner up
ip link set outer up
ip neigh add 198.51.100.2 lladdr 02:00:00:00:00:02 nud permanent dev inner
ip route add default via 198.51.100.2 dev inner
exec tcpdump -i any -Z root --immediate-mode -l -n -q
`;

export async function openCapturedNetwork(): Promise<CapturedNetwork> {
  const capture = spawn('setpriv', ['--pdeathsig', 'KILL', 'unshare', '--net', 'sh', '-ec', setUp], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const said = { stdout: '', stderr: '' };
  const closed = once(capture, 'close');
  await new Promise<void>((resolve, reject) => {
    for (const name of ['stdout', 'stderr'] as const) {
      capture[name].setEncoding('utf8').on('data', (text: string) => {
        said[name] += text;
        if (said.stderr.includes('listening on any')) resolve();
      });
    }
    closed.then(() => reject(new Error(`there is no network to capture: ${said.stderr}`)), reject);
  });
  return {
    through: ['nsenter', '--target', String(capture.pid), '--net', '--'],
    async end() {
      // It writes what it has, and how many packets the kernel dropped before it could read them.
      capture.kill('SIGINT');
      await closed;
      if (!/^0 packets dropped by kernel$/m.test(said.stderr)) throw new Error(`packets were missed: ${said.stderr}`);
      return said.stdout.split('\n').filter((line) => line !== '');
    },
  };
}
