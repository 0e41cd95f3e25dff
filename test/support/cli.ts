import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const bin = fileURLToPath(new URL('../../apps/cli/bin/glovebox.mjs', import.meta.url));

export interface CliRun {
  code: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
  /** stdout as JSON; throws when it is none. */
  json: () => Record<string, unknown> & {
    error?: { code: string; message: string; hint?: string; place?: Record<string, unknown> };
  };
}

export interface CliOptions {
  dataDir: string;
  cwd?: string;
  stdin?: string;
  env?: Record<string, string>;
  /** Called with the process once it runs. */
  onStart?: (child: ReturnType<typeof spawn>) => void;
}

/** Run the CLI as a user does: through its launcher, in a process of its own, with a small environment. */
export function glovebox(args: readonly string[], options: CliOptions): Promise<CliRun> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [bin, ...args], {
      ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
      env: {
        PATH: process.env.PATH ?? '/usr/sbin:/usr/bin:/sbin:/bin',
        HOME: options.dataDir,
        GLOVEBOX_DATA_DIR: options.dataDir,
        ...(process.env.npm_config_registry === undefined
          ? {}
          : { npm_config_registry: process.env.npm_config_registry }),
        ...(process.env.GLOVEBOX_EXTRA_CA === undefined ? {} : { GLOVEBOX_EXTRA_CA: process.env.GLOVEBOX_EXTRA_CA }),
        ...options.env,
      },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    let stdout = '';
    let stderr = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text;
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr += text;
    });
    child.on('error', reject);
    child.on('close', (code, signal) => resolve({ code, signal, stdout, stderr, json: () => JSON.parse(stdout) }));
    child.stdin.on('error', () => undefined);
    child.stdin.end(options.stdin ?? '');
    options.onStart?.(child);
  });
}
