import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { errorCatalogue } from '@glovebox/contract';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { npmEnvironment, searchPath, taskEnvironment } from './environment.mjs';
import { missingNeeds } from './needs.mjs';
import { isInstalled, measuredMiB } from './npm.mjs';
import { exitOf } from './setup-error.mjs';
import {
  atTerminal,
  bootstrap,
  exitOfChild,
  missingPackage,
  nothingMissing,
  removeTemporaries,
  smallClone,
  start,
  temporary,
  until,
  write,
} from './small-clone.ts';
import { parseArguments } from './tasks.mjs';

afterAll(removeTemporaries);

describe('setting up', () => {
  it('installs once, runs the task on the pinned Node.js, and then leaves npm alone', () => {
    const root = smallClone({ needs: nothingMissing, task: 'console.log(JSON.stringify(process.argv.slice(2)));' });
    const first = bootstrap(root, ['verify', '--yes', 'a', '--b=c']);
    expect(first).toMatchObject({ status: 0, stdout: '["a","--b=c"]\n' });
    expect(first.stderr).toContain('to be installed');
    const stamp = statSync(join(root, 'node_modules/.glovebox-setup.json'));
    const second = bootstrap(root, ['verify'], { npm_config_registry: 'http://127.0.0.1:1/' });
    expect(second).toMatchObject({ status: 0, stdout: '[]\n', stderr: '' });
    expect(statSync(join(root, 'node_modules/.glovebox-setup.json')).mtimeMs).toBe(stamp.mtimeMs);
  });

  it('installs again after the lockfile has changed, and not after a declared range of a member has', () => {
    const root = smallClone({ needs: nothingMissing, task: '' });
    bootstrap(root, ['verify']);
    expect(isInstalled(root)).toBe(true);
    const lockfile = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));
    const member = `own/node-linux-${process.arch}`;
    lockfile.packages[member].dependencies = {};
    writeFileSync(join(root, 'package-lock.json'), JSON.stringify(lockfile));
    expect(isInstalled(root)).toBe(true);
    lockfile.packages['node_modules/other'] = { resolved: member, link: true };
    writeFileSync(join(root, 'package-lock.json'), JSON.stringify(lockfile));
    expect(isInstalled(root)).toBe(false);
  });

  it('fails with what npm says where npm cannot install, and does not count it as installed', () => {
    const root = smallClone({ needs: nothingMissing, task: '' });
    const lockfile = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));
    const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
    lockfile.packages[''].dependencies = { gone: '1.0.0' };
    lockfile.packages['node_modules/gone'] = { version: '1.0.0', integrity: `sha512-${'A'.repeat(86)}==` };
    writeFileSync(join(root, 'package-lock.json'), JSON.stringify(lockfile));
    writeFileSync(join(root, 'package.json'), JSON.stringify({ ...manifest, dependencies: { gone: '1.0.0' } }));
    const env = { npm_config_registry: 'http://127.0.0.1:1/', npm_config_fetch_retries: '0' };
    const { status, stderr, stdout } = bootstrap(root, ['verify'], env);
    expect({ status, stdout }).toEqual({ status: 3, stdout: '' });
    expect(stderr).toMatch(/ECONNREFUSED[\s\S]*setup: SETUP_INSTALL_FAILED: npm ci ended with 1/);
    expect(isInstalled(root)).toBe(false);
  });

  it('says that the lockfile is broken, by its path', () => {
    const root = smallClone({ needs: nothingMissing, task: '' });
    writeFileSync(join(root, 'package-lock.json'), '{');
    const { status, stderr } = bootstrap(root, ['verify']);
    expect(status).toBe(3);
    expect(stderr).toContain(`SETUP_INSTALL_FAILED: ${root}/package-lock.json`);
  });

  it('lets only one of several setups of a clone install', async () => {
    const root = smallClone({ needs: nothingMissing, task: 'console.log("ran");' });
    const runs = Array.from({ length: 4 }, () => start(root, ['verify']));
    const ended = await Promise.all(
      runs.map(({ child, output }) => exitOfChild(child).then((code) => ({ code, output: output() }))),
    );
    expect(ended.map(({ code }) => code)).toEqual([0, 0, 0, 0]);
    expect(
      ended.filter(({ output }) => output.includes('added 1 package') || output.includes('up to date')),
    ).toHaveLength(1);
    expect(readdirSync(join(root, '.cache/setup'))).toEqual([]);
  });
});

describe('what the system lacks', () => {
  it('is not installed where nobody can be asked: exit 2 and the command to run', () => {
    const root = smallClone({ needs: missingPackage, task: 'console.log("ran");' });
    const { status, stdout, stderr } = bootstrap(root, ['verify']);
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(stderr).toMatch(/SETUP_CONSENT_NEEDED[\s\S]*node tools\/bootstrap\.mjs verify --yes/);
    expect(bootstrap(root, ['verify'], { npm_lifecycle_event: 'demo' }).stderr).toContain('npm run demo -- --yes');
    expect(existsSync(join(root, 'node_modules'))).toBe(false);
  });

  it.each(['n\n', '\n', '\u0004', '\u0003'])('is not installed where the answer is %j', (answer) => {
    const root = smallClone({ needs: missingPackage, task: 'console.log("ran");' });
    const { status, stdout } = atTerminal(root, answer);
    expect(status).toBe(2);
    expect(stdout).toContain('go ahead?');
    expect(stdout).not.toMatch(/^setup: apt-get|^ran/m);
    expect(existsSync(join(root, 'node_modules'))).toBe(false);
  });

  it('stands in the way of no task where the answer is yes and nothing is missing but npm packages', () => {
    const root = smallClone({ needs: nothingMissing, task: 'console.log("ran");' });
    const { status, stdout } = atTerminal(root, 'y\n');
    expect(status).toBe(0);
    expect(stdout).toMatch(/^ran/m);
  });

  it('is a matter for root: exit 3 and the command with sudo', () => {
    const root = smallClone({ needs: missingPackage, task: '' });
    const { status, stderr } = bootstrap(root, ['verify', '--yes'], {}, 65_534);
    expect(status).toBe(3);
    expect(stderr).toMatch(
      /PRIVILEGE_MISSING[\s\S]*sudo apt-get install -y --no-install-recommends no-such-package-of-glovebox/,
    );
  });

  it('is found by looking for any one of the commands, and for libraries by their soname', () => {
    const dir = temporary();
    write(dir, 'runs', '');
    chmodSync(join(dir, 'runs'), 0o755);
    write(dir, 'cannot-run', '');
    const need = (commands: string[]) => ({ what: commands.join(), package: 'p', commands });
    const wanted = [need(['gone', 'runs']), need(['gone']), need(['cannot-run'])];
    expect(missingNeeds(wanted, [dir]).map(({ what }) => what)).toEqual(['gone', 'cannot-run']);
    const libraries = ['libc.so.6', 'libgone.so.9'].map((library) => ({ what: library, package: 'p', library }));
    expect(missingNeeds(libraries, [dir]).map(({ what }) => what)).toEqual(['libgone.so.9']);
  });
});

describe('running a task', () => {
  let root = '';
  const task = (text: string) => writeFileSync(join(root, 'tools/verify.ts'), text);
  beforeAll(() => {
    root = smallClone({ needs: nothingMissing, task: '' });
    expect(bootstrap(root, ['verify']).status).toBe(0);
  });

  it.each([0, 1, 7])('ends with its exit status %i', (code) => {
    task(`process.exit(${code});`);
    expect(bootstrap(root, ['verify']).status).toBe(code);
  });

  it('ends with 128 and the number of the signal that killed it', () => {
    task('process.kill(process.pid, "SIGKILL");');
    expect(bootstrap(root, ['verify']).status).toBe(137);
  });

  it.each(['SIGTERM', 'SIGINT', 'SIGHUP'] as const)('hands on %s', async (signal) => {
    task(
      `process.on('${signal}', () => { console.log('told'); process.exit(5); }); console.log('ready'); setInterval(() => {}, 1000);`,
    );
    const { child, output } = start(root, ['verify']);
    await until(() => output().includes('ready'));
    child.kill(signal);
    expect(await exitOfChild(child)).toBe(5);
    expect(output()).toContain('told');
  });

  it('gives it an environment of its own', () => {
    task('console.log(JSON.stringify(process.env));');
    const { stdout } = bootstrap(root, ['verify'], {
      NODE_OPTIONS: '--no-warnings',
      NODE_EXTRA_CA_CERTS: '/etc/ssl/certs/ca-certificates.crt',
      SECRET: 'x',
      GLOVEBOX_DATA_DIR: '/d',
      npm_config_registry: 'http://127.0.0.1:1/',
    });
    const { PATH, ...env } = JSON.parse(stdout);
    expect(PATH).toContain('/usr/bin');
    expect(env).toEqual({
      HOME: root,
      GLOVEBOX_DATA_DIR: '/d',
      GLOVEBOX_EXTRA_CA: '/etc/ssl/certs/ca-certificates.crt',
      npm_config_registry: 'http://127.0.0.1:1/',
    });
  });

  it('refuses a task that it does not know, and lists those that it knows', () => {
    for (const argv of [[], ['nothing'], ['toString']]) {
      const { status, stderr } = bootstrap(root, argv);
      expect(status).toBe(2);
      expect(stderr).toMatch(/USAGE[\s\S]*verify/);
    }
    expect(bootstrap(root, ['help']).status).toBe(0);
  });
});

it('takes --yes for itself wherever it stands before --, and leaves the rest to the task', () => {
  expect(parseArguments(['demo', '--sabotage=net', '--yes'])).toEqual({
    name: 'demo',
    yes: true,
    args: ['--sabotage=net'],
  });
  expect(parseArguments(['demo', '--', '--yes'])).toEqual({ name: 'demo', yes: false, args: ['--', '--yes'] });
});

it('gives npm its configuration and the CA file, and nothing that would make it install something else', () => {
  const env = {
    PATH: '/a/node_modules/.bin:/usr/bin',
    NODE_EXTRA_CA_CERTS: '/ca',
    npm_config_registry: 'r',
    NPM_CONFIG_CACHE: 'c',
    npm_config_omit: 'optional',
    NODE_ENV: 'production',
    NODE_OPTIONS: '-r x',
  };
  expect(npmEnvironment(env)).toEqual({
    PATH: searchPath(env).join(':'),
    NODE_EXTRA_CA_CERTS: '/ca',
    npm_config_registry: 'r',
    NPM_CONFIG_CACHE: 'c',
  });
});

it('passes the CA file of npm on under one name, the most explicit first', () => {
  expect(taskEnvironment({ npm_config_cafile: '/npm' }).GLOVEBOX_EXTRA_CA).toBe('/npm');
  expect(taskEnvironment({ npm_config_cafile: '/npm', NODE_EXTRA_CA_CERTS: '/node' }).GLOVEBOX_EXTRA_CA).toBe('/node');
  expect(taskEnvironment({ NODE_EXTRA_CA_CERTS: '/node', GLOVEBOX_EXTRA_CA: '/own' }).GLOVEBOX_EXTRA_CA).toBe('/own');
});

it('looks for commands in PATH without what npm puts in front, then in the directories of the system', () => {
  const path = searchPath({ PATH: '/x/node_modules/.bin:/npm/node-gyp-bin:relative:/own' });
  expect(path[0]).toBe('/own');
  expect(path).toContain('/usr/sbin');
});

it('ends with the exit statuses of the catalogue', () => {
  for (const [code, exit] of Object.entries(exitOf)) expect(errorCatalogue).toMatchObject({ [code]: { exit } });
});

it('announces about the size that node_modules has', () => {
  const { stdout } = spawnSync('du', ['-sm', 'node_modules'], {
    cwd: resolve(import.meta.dirname, '../..'),
    encoding: 'utf8',
  });
  const actual = Number.parseInt(stdout, 10);
  expect(measuredMiB.disk / actual).toBeGreaterThan(0.75);
  expect(measuredMiB.disk / actual).toBeLessThan(1.25);
});
