import { GloveboxError } from '@glovebox/contract';
import { afterEach, describe, expect, it } from 'vitest';
import { useCli } from '../support/use-cli.ts';
import { useEngine } from '../support/use-engine.ts';

const cells = useEngine();
const cli = useCli();

/** The whole environment of a cell. A change of it is a decision, so it is written down here once more. */
const environment = { HOME: '/tmp', LANG: 'C.UTF-8', PATH: '/usr/bin', TMPDIR: '/tmp', TZ: 'UTC' };

const tell = {
  body: `
    const { env, argv, execArgv, title, execPath, argv0 } = process;
    return { env: { ...env }, argv, execPath, argv0, title, cwd: process.cwd(), preloaded: globalThis.preloaded ?? 'no', flags: execArgv.filter((flag) => !/^--(permission|allow-(fs-(read|write)=\\/(glovebox|tmp)\\/|net)|no-experimental-ffi|disable-sigusr1|disable-warning=ExperimentalWarning|max-(semi|old)-space-size=\\d+)$/.test(flag)), zone: Intl.DateTimeFormat().resolvedOptions().timeZone, locale: Intl.DateTimeFormat().resolvedOptions().locale };`,
};
const expected = {
  env: environment,
  argv: ['/usr/bin/node', '/glovebox/harness.cjs'],
  execPath: '/usr/bin/node',
  argv0: '/usr/bin/node',
  title: expect.stringMatching(/node/),
  cwd: '/',
  preloaded: 'no',
  flags: [],
  zone: 'UTC',
  locale: 'en-US',
};

/** What steers Node.js, its loader or the C library where it is set. */
const steering: Record<string, string> = {
  NODE_OPTIONS: '--title=steered',
  NODE_PATH: '/tmp/steered',
  NODE_ENV: 'steered',
  NODE_DEBUG: 'module',
  NODE_V8_COVERAGE: '/tmp/steered',
  NODE_COMPILE_CACHE: '/tmp/steered',
  NODE_REPL_EXTERNAL_MODULE: '/tmp/steered.js',
  NODE_PENDING_DEPRECATION: '1',
  NODE_TLS_REJECT_UNAUTHORIZED: '0',
  NODE_USE_ENV_PROXY: '1',
  NODE_REDIRECT_WARNINGS: '/tmp/steered',
  NODE_ICU_DATA: '/tmp/steered',
  NODE_NO_WARNINGS: '1',
  NODE_PRESERVE_SYMLINKS: '1',
  NODE_TEST_CONTEXT: 'child-v8',
  UV_THREADPOOL_SIZE: '1',
  LD_LIBRARY_PATH: '/tmp/steered',
  GCONV_PATH: '/tmp/steered',
  MALLOC_ARENA_MAX: '1',
  HTTPS_PROXY: 'http://127.0.0.1:1',
  SSL_CERT_FILE: '/tmp/steered',
  ELECTRON_RUN_AS_NODE: '1',
  FORCE_COLOR: '3',
  TZ: 'Europe/Moscow',
  LC_ALL: 'ru_RU.UTF-8',
};

describe('the environment inside of a cell is the documented one', () => {
  const canaries = Object.fromEntries(Array.from({ length: 30 }, (_, i) => [`CANARY_${i}`, `value-${i}`]));
  const before = { ...process.env };
  afterEach(() => {
    for (const name of Object.keys(process.env)) if (!(name in before)) delete process.env[name];
    Object.assign(process.env, before);
  });

  it('whatever that of the host is while the engine runs', async () => {
    // TZ and the like would change this process, too; those go through the command line below.
    const { TZ: _, LC_ALL: __, ...rest } = steering;
    Object.assign(process.env, rest, canaries, { LD_PRELOAD: '/tmp/steered.so', LD_AUDIT: '/tmp/steered.so' });
    const { output } = await cells().run(tell);
    expect(output).toEqual(expected);
  });

  it('whatever that of the command line is', async () => {
    const packageDir = await cli().node('tell', tell);
    const env = {
      ...steering,
      ...canaries,
      // The command itself is the user's own process: these must not break it.
      NODE_OPTIONS: '--title=steered',
      NODE_V8_COVERAGE: '',
      NODE_DEBUG: '',
      NODE_ICU_DATA: '',
      NODE_TEST_CONTEXT: '',
      NODE_PRESERVE_SYMLINKS: '',
      LD_PRELOAD: '/tmp/steered.so',
    };
    const { code, stdout, stderr } = await cli().run(['node', 'run', packageDir, '--trial', '--json'], { env });
    expect([code, code === 0 ? '' : stderr]).toEqual([0, '']);
    expect((JSON.parse(stdout) as { output: unknown }).output).toEqual(expected);
  });

  it('whatever files of the package say', async () => {
    const all = Object.entries({ ...steering, LD_PRELOAD: '/tmp/steered.so' });
    const text = all.map(([name, value]) => `${name}=${value}\n`).join('');
    const preload = `globalThis.preloaded = 'yes';`;
    const { output } = await cells().run({
      ...tell,
      files: {
        '.env': text,
        '.env.local': text,
        'src/.env': text,
        '.npmrc': `node-options=--require ./preload.cjs --title=steered\nscript-shell=/tmp/steered\n${text}`,
        '.noderc': text,
        '.node-version': '12.0.0',
        '.nvmrc': '12.0.0',
        '.tool-versions': 'nodejs 12.0.0',
        'node.config.json': JSON.stringify({ nodeOptions: { import: ['./preload.mjs'], title: 'steered' } }),
        'preload.cjs': preload,
        'preload.mjs': preload,
        'src/preload.mjs': preload,
        'package.json': JSON.stringify({
          name: 'test-node',
          version: '1.0.0',
          license: 'Apache-2.0',
          type: 'module',
          main: './preload.cjs',
          module: './preload.mjs',
          browser: './preload.mjs',
          exports: './preload.mjs',
          bin: './preload.mjs',
          sideEffects: ['./preload.mjs'],
          engines: { node: '12' },
          volta: { node: '12.0.0' },
          config: Object.fromEntries(all),
          env: Object.fromEntries(all),
          scripts: { preinstall: 'node preload.cjs', prepare: 'node preload.cjs' },
        }),
      },
    });
    expect(output).toEqual(expected);
  });
});

describe('a manifest', () => {
  it.each(Object.keys({ ...steering, LD_PRELOAD: '' }))('cannot set %s', async (name) => {
    const value = steering[name] ?? '/tmp/steered.so';
    for (const manifest of [
      { env: { [name]: value } },
      { resources: { env: { [name]: value } } },
      { [name]: value },
      { capabilities: { env: [name] } },
    ]) {
      const refused: unknown = await cells()
        .run({ body: 'return 1', manifest })
        .catch((thrown: unknown) => thrown);
      expect(GloveboxError.is(refused, 'PACKAGE_INVALID')).toBe(true);
    }
  });

  it('sets what it may: the limits', async () => {
    const { limits } = await cells().run({ body: 'return 1', manifest: { resources: { memory: '80MiB', pids: 32 } } });
    expect(limits).toMatchObject({ memoryBytes: 80 * 1024 * 1024, pids: 32 });
  });
});

describe('what a node sets in its environment', () => {
  it('is its own, for as long as it runs', async () => {
    const change = {
      body: `process.env.NODE_OPTIONS = '--title=x'; process.env.X = 'y'; return process.env.X`,
      id: 'changer',
    };
    expect((await cells().run(change)).output).toBe('y');
    expect((await cells().run(tell)).output).toEqual(expected);
  });
});
