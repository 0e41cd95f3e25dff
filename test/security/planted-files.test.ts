import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { useCli } from '../support/use-cli.ts';

const cli = useCli();

/** Files that some tool of a host would execute, or take code or options from, each leaving a marker of its name. */
function plantedFiles(marker: string): Record<string, string> {
  const shell = (name: string): string => `#!/bin/sh\ntouch '${marker}-${name}'\n`;
  const script = (name: string): string => `require('node:fs').writeFileSync('${marker}-${name}', '');\n`;
  const command = (name: string): string => `touch '${marker}-${name}'`;
  const module = (name: string): string =>
    `import fs from 'node:fs'; fs.writeFileSync('${marker}-${name}', ''); export default {};\n`;
  return {
    'package.json': JSON.stringify({
      name: 'planted',
      version: '1.0.0',
      license: 'Apache-2.0',
      type: 'module',
      bin: './bin.cjs',
      gypfile: true,
      scripts: Object.fromEntries(
        'preinstall install postinstall prepare prepublish prepack pretest test posttest build start'
          .split(' ')
          .map((name) => [name, command(`script-${name}`)]),
      ),
      husky: { hooks: { 'pre-commit': command('husky') } },
      eslintConfig: { plugins: ['./plugin.cjs'] },
      prettier: './plugin.cjs',
      babel: { plugins: ['./plugin.cjs'] },
    }),
    '.npmrc': `node-options=--require=${dirname(marker)}/plugin.cjs\nscript-shell=./shell.sh\ngit=./shell.sh\nprefix=.\nignore-scripts=false\n`,
    '.pnpmfile.cjs': script('pnpmfile'),
    '.yarnrc.yml': 'yarnPath: ./plugin.cjs\nplugins:\n  - ./plugin.cjs\n',
    'binding.gyp': `{ "targets": [{ "target_name": "x", "actions": [{ "action": ["sh", "-c", "touch '${marker}-gyp'"] }] }] }`,
    'tsconfig.json': JSON.stringify({
      compilerOptions: { plugins: [{ name: './plugin.cjs' }], paths: { '@glovebox/sdk': ['./plugin.cjs'] } },
      'ts-node': { require: ['./plugin.cjs'] },
    }),
    'src/tsconfig.json': JSON.stringify({ extends: '../plugin.cjs' }),
    'esbuild.config.js': module('esbuild'),
    'esbuild.config.mjs': module('esbuild'),
    'vitest.config.ts': module('vitest'),
    'vite.config.ts': module('vite'),
    'eslint.config.js': module('eslint'),
    '.eslintrc.cjs': script('eslintrc'),
    'biome.json': '{ "plugins": ["./plugin.cjs"] }',
    'prettier.config.cjs': script('prettier'),
    'babel.config.cjs': script('babel'),
    'plugin.cjs': script('plugin'),
    'bin.cjs': script('bin'),
    'shell.sh': shell('shell'),
    Makefile: `all:\n\t${command('make')}\n`,
    '.envrc': command('direnv'),
    '.vscode/settings.json': JSON.stringify({ 'typescript.tsdk': './plugin.cjs', 'eslint.runtime': './shell.sh' }),
    '.vscode/tasks.json': JSON.stringify({
      tasks: [{ command: command('vscode'), runOptions: { runOn: 'folderOpen' } }],
    }),
    '.idea/workspace.xml': '<project/>',
    '.claude/settings.json': JSON.stringify({ hooks: { PreToolUse: [{ hooks: [{ command: command('agent') }] }] } }),
    '.mcp.json': JSON.stringify({ mcpServers: { x: { command: './shell.sh' } } }),
    '.gitattributes': '* filter=planted diff=planted\n',
    '.gitmodules': '[submodule "x"]\n\tpath = x\n\turl = ext::sh -c touch% planted\n',
    '.gitconfig': '[core]\n\tfsmonitor = ./shell.sh\n',
    'test/index.test.ts': module('test'),
    'fixtures/one.json': JSON.stringify({ input: {}, expect: { output: 'ran' } }),
    'src/index.test.ts': module('test-in-src'),
  };
}

/** What stands beside the package and is no part of it. */
function plantRepository(dir: string, marker: string): void {
  execFileSync('git', ['init', '--quiet', dir], {
    env: { PATH: process.env.PATH, HOME: dir, GIT_CONFIG_NOSYSTEM: '1' },
  });
  for (const hook of ['pre-commit', 'post-checkout', 'fsmonitor-watchman', 'post-index-change']) {
    writeFileSync(join(dir, '.git/hooks', hook), `#!/bin/sh\ntouch '${marker}-hook-${hook}'\n`, { mode: 0o755 });
  }
  writeFileSync(
    join(dir, '.git/config'),
    `[core]\n\trepositoryformatversion = 0\n\tfsmonitor = touch '${marker}-fsmonitor'\n\tsshCommand = touch '${marker}-ssh'\n\tpager = touch '${marker}-pager'\n[diff]\n\texternal = touch '${marker}-diff'\n[filter "planted"]\n\tclean = touch '${marker}-filter'\n`,
  );
  for (const name of ['.glovebox/types', 'node_modules/.bin', 'node_modules/@glovebox/sdk'])
    mkdirSync(join(dir, name), { recursive: true });
  for (const tool of ['esbuild', 'tsc', 'node', 'npm', 'crun']) {
    writeFileSync(join(dir, 'node_modules/.bin', tool), `#!/bin/sh\ntouch '${marker}-bin-${tool}'\n`, { mode: 0o755 });
  }
  writeFileSync(join(dir, 'node_modules/@glovebox/sdk/package.json'), '{"main":"index.js"}');
  writeFileSync(join(dir, 'node_modules/@glovebox/sdk/index.js'), `require('fs').writeFileSync('${marker}-sdk', '')`);
}

const markersIn = (dir: string): string[] => {
  const found = execFileSync('find', [dir, '-name', 'marker-*'], { encoding: 'utf8' });
  return found.split('\n').filter((path) => path !== '');
};

describe('files that a tool would execute', () => {
  it('are executed by no step, in the package, in its directory or written by the node', async () => {
    const { dir } = cli();
    const marker = join(dir, 'marker');
    const node = {
      id: 'planted',
      body: `
        const fs = process.getBuiltinModule('fs');
        for (const name of ['package.json', 'Makefile', 'index.test.ts']) await ctx.files.write(name, ctx.input.script ?? '#!/bin/sh');
        for (const name of ['.npmrc', 'package.json', '.git']) try { fs.writeFileSync('/' + name, ''); } catch {}
        ctx.log.info('\\u001b]0;touch\\u0007$(touch ' + ctx.input.marker + '-log) \`touch ' + ctx.input.marker + '-log\`');
        return 'ran';`,
      manifest: { capabilities: { files: { maxBytes: '1MiB' } } },
      files: plantedFiles(marker),
    };
    const packageDir = await cli().node('planted', node);
    plantRepository(packageDir, marker);
    const steps: string[][] = [
      [
        'node',
        'run',
        packageDir,
        '--trial',
        '--json',
        '--input',
        JSON.stringify({ marker, script: `#!/bin/sh\ntouch ${marker}-file` }),
      ],
      ['node', 'run', packageDir, '--trial', '--fixture', 'one'],
      ['node', 'refresh', packageDir],
      ['run', 'list'],
      ['doctor'],
    ];
    const failed: string[] = [];
    let run = '';
    for (const args of steps) {
      const { code, stdout, stderr } = await cli().run(args, { cwd: packageDir });
      if (code !== 0) failed.push(`${args.slice(0, 2).join(' ')}: ${code} ${stderr}`);
      if (args.includes('--json')) run = (JSON.parse(stdout) as { run: string }).run;
    }
    for (const args of [
      ['run', 'show', run],
      ['run', 'logs', run],
      ['run', 'file', run, 'Makefile', '--out', join(dir, 'out-of-run')],
      ['verify', run],
    ]) {
      const { code, stderr } = await cli().run(args, { cwd: packageDir });
      if (code !== 0) failed.push(`${args.slice(0, 2).join(' ')}: ${code} ${stderr}`);
    }
    expect(failed).toEqual([]);
    expect(markersIn(dir)).toEqual([]);
  });

  it('would have left their marks: each is of a kind that works', async () => {
    const dir = await cli().node('armed', { body: 'return 1' });
    const marker = join(dir, 'marker');
    const env = { PATH: process.env.PATH, HOME: dir };
    for (const [name, text] of Object.entries(plantedFiles(marker))) {
      mkdirSync(dirname(join(dir, name)), { recursive: true });
      writeFileSync(join(dir, name), text);
    }
    execFileSync(process.execPath, [join(dir, 'plugin.cjs')], { env });
    execFileSync('sh', [join(dir, 'shell.sh')], { env });
    execFileSync(process.execPath, ['--run', 'test'], { cwd: dir, env });
    plantRepository(dir, marker);
    execFileSync('git', ['-C', dir, 'status'], { env, stdio: 'ignore' });
    for (const name of ['plugin', 'shell', 'script-test', 'fsmonitor']) {
      expect([name, existsSync(`${marker}-${name}`)]).toEqual([name, true]);
      execFileSync('rm', [`${marker}-${name}`]);
    }
  });
});
