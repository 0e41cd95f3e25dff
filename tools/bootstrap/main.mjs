// @ts-check
import { dirname, join, relative } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { fileURLToPath } from 'node:url';
import { whileAlone } from './claim.mjs';
import { aptCommand, describePlan, installPackages, isDebian, planPackages, systemName } from './debian.mjs';
import { searchPath, taskEnvironment } from './environment.mjs';
import { launch } from './launch.mjs';
import { canRun, exists, loaderIsThere, missingNeeds, needs, testNeeds } from './needs.mjs';
import { countPackages, install, isInstalled, measuredMiB } from './npm.mjs';
import { SetupError } from './setup-error.mjs';
import { parseArguments, tasks, usage } from './tasks.mjs';

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const aptClaims = '/run/glovebox-setup';
const waitLimitMs = 30 * 60_000;

/** @param {string} line */
const say = (line) => process.stderr.write(`setup: ${line}\n`);

/**
 * Bring the clone to where the task can run, and run it.
 * @param {string[]} argv
 * @returns {Promise<number>} the exit status: the task's, or why there was none (see docs/errors.md)
 */
export async function main(argv) {
  try {
    const { name, yes, args } = parseArguments(argv);
    const task = name === undefined || !Object.hasOwn(tasks, name) ? undefined : tasks[name];
    if (task === undefined) {
      if (name === 'help' || name === '--help') {
        process.stdout.write(usage());
        return 0;
      }
      throw new SetupError('USAGE', name === undefined ? 'No task was named.' : `There is no task ${name}.`, usage());
    }
    checkPlatform();
    const trees = task.trees.map((tree) => join(root, tree)).filter((tree) => exists(join(tree, 'package-lock.json')));
    const wanted = task.tests ? [...needs, ...testNeeds] : needs;
    const lacking = look(wanted, trees);
    if (lacking.needs.length > 0 || lacking.trees.length > 0) await setUp(wanted, trees, yes, name ?? '');
    const node = join(root, 'node_modules', `node-linux-${process.arch}`, 'bin', 'node');
    if (!canRun(node))
      throw new SetupError(
        'SETUP_INSTALL_FAILED',
        `${relative(root, node)} is not there.`,
        'Remove node_modules and run the same command again.',
      );
    return await launch(node, [join(root, task.script), ...task.args, ...args], {
      cwd: root,
      env: taskEnvironment(process.env),
      stdio: 'inherit',
    });
  } catch (error) {
    const known = asSetupError(error);
    if (known === undefined) {
      process.stderr.write(`setup: INTERNAL: ${error instanceof Error ? error.stack : error}\n`);
      return 70;
    }
    process.stderr.write(`setup: ${known.code}: ${known.message}\n${known.hint.replace(/^(?=.)/gm, '  ')}\n`);
    return known.exit;
  }
}

/** @param {unknown} error */
function asSetupError(error) {
  if (error instanceof SetupError) return error;
  const { code, message } = /** @type {NodeJS.ErrnoException} */ (error ?? {});
  if (code === undefined || !['EACCES', 'EPERM', 'EROFS', 'ENOSPC', 'EDQUOT'].includes(code)) return undefined;
  return new SetupError('SETUP_INSTALL_FAILED', message, 'Check the owner of the clone and the free space.');
}

/**
 * @param {import('./needs.mjs').Need[]} wanted
 * @param {string[]} trees
 */
function look(wanted, trees) {
  return { needs: missingNeeds(wanted, searchPath(process.env)), trees: trees.filter((tree) => !isInstalled(tree)) };
}

/**
 * @param {import('./needs.mjs').Need[]} wanted
 * @param {string[]} trees
 * @param {boolean} yes
 * @param {string} task
 */
async function setUp(wanted, trees, yes, task) {
  const lacking = look(wanted, trees);
  const packages = packagesOf(lacking.needs);
  if (packages.length > 0) checkCanInstall(lacking.needs, packages);
  for (const line of describe(lacking, packages)) say(line);
  await askConsent(packages, yes, task);
  // Another setup may have done either part while this one waited: each looks again once it is alone.
  if (packages.length > 0) {
    await alone(aptClaims, async () => {
      const still = packagesOf(look(wanted, []).needs);
      if (still.length > 0) await installPackages(still, process.env, say);
    });
    const left = look(wanted, []).needs;
    if (left.length > 0) {
      throw new SetupError(
        'SETUP_INSTALL_FAILED',
        `Still missing: ${left.map(({ what }) => what).join(', ')}.`,
        'See what apt-get says above.',
      );
    }
  }
  await alone(join(root, '.cache', 'setup'), async () => {
    for (const tree of look([], trees).trees) await install(tree, process.env);
  });
}

/** @param {string} claims @param {() => Promise<void>} action */
function alone(claims, action) {
  return whileAlone(claims, action, {
    limitMs: waitLimitMs,
    onWait: (pid) => say(`waiting for the setup of process ${pid}`),
  });
}

function checkPlatform() {
  if (process.platform !== 'linux' || (process.arch !== 'x64' && process.arch !== 'arm64')) {
    throw new SetupError(
      'HOST_UNSUPPORTED',
      `Glovebox runs on Linux, x64 and arm64; this is ${process.platform} on ${process.arch}.`,
      'Use a Linux machine, or a virtual one.',
    );
  }
  if (!loaderIsThere())
    throw new SetupError(
      'HOST_UNSUPPORTED',
      'This system has no glibc, which the Node.js that comes with the project needs.',
      'Use a distribution with glibc.',
    );
}

/**
 * @param {import('./needs.mjs').Need[]} lacking
 * @param {string[]} packages
 */
function checkCanInstall(lacking, packages) {
  const names = lacking.map(({ what }) => what).join(', ');
  if (!isDebian(process.env)) {
    throw new SetupError(
      'HOST_UNSUPPORTED',
      `Missing: ${names}.`,
      `On ${systemName()} install these yourself; on Debian they are in ${packages.join(', ')}.`,
    );
  }
  if (process.getuid?.() !== 0)
    throw new SetupError(
      'PRIVILEGE_MISSING',
      `Missing: ${names}.`,
      `Installing needs root. Run: ${aptCommand(packages)}`,
    );
}

/**
 * @param {ReturnType<typeof look>} lacking
 * @param {string[]} packages
 */
function describe(lacking, packages) {
  const lines = ['to be installed:'];
  if (packages.length > 0) {
    const plan = planPackages(packages, process.env);
    lines.push(`  in the system, for ${lacking.needs.map(({ what }) => what).join(', ')}:`);
    lines.push(
      `    ${plan === undefined ? `${packages.join(', ')}; the size is known after apt-get update` : describePlan(plan)}`,
    );
  }
  for (const tree of lacking.trees) {
    const size = tree === root ? `, about ${measuredMiB.download} MiB to fetch, ${measuredMiB.disk} MiB on disk` : '';
    lines.push(
      `  in ${join(relative(root, tree), 'node_modules')}: ${countPackages(tree)} npm packages, Node.js among them${size}`,
    );
  }
  return lines;
}

/**
 * The clone's own node_modules may be filled unasked where nobody can be asked; the system may not.
 * @param {string[]} packages
 * @param {boolean} yes
 * @param {string} task
 */
async function askConsent(packages, yes, task) {
  if (yes || isOn(process.env.CI)) return;
  const script = process.env.npm_lifecycle_event;
  const again = `Run: ${script === undefined ? `node tools/bootstrap.mjs ${task}` : `npm run ${script} --`} --yes`;
  if (process.stdin.isTTY && process.stderr.isTTY) {
    const terminal = createInterface({ input: process.stdin, output: process.stderr });
    // Ctrl-C and Ctrl-D close the terminal and leave the question unanswered: that is a no.
    const answer = await new Promise((resolve) => {
      terminal.once('close', () => resolve(''));
      terminal.question('setup: go ahead? [y/N] ').then(resolve, () => resolve(''));
    });
    terminal.close();
    if (!/^y(es)?$/i.test(answer.trim())) throw new SetupError('SETUP_CONSENT_NEEDED', 'Nothing was installed.', again);
  } else if (packages.length > 0) {
    throw new SetupError(
      'SETUP_CONSENT_NEEDED',
      'There is no terminal to ask whether to install packages in the system.',
      again,
    );
  }
}

/** @param {string | undefined} flag */
function isOn(flag) {
  return flag !== undefined && !['', '0', 'false'].includes(flag.toLowerCase());
}

/** @param {import('./needs.mjs').Need[]} lacking */
function packagesOf(lacking) {
  return [...new Set(lacking.map((need) => need.package))];
}
