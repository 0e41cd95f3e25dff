import { existsSync, globSync, readFileSync } from 'node:fs';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import {
  appArrows,
  arrowReasons,
  builtinRules,
  computedImports,
  environmentRule,
  insideCells,
  mayPackInsideCells,
  packageArrows,
  skipped,
  typeArrows,
  valueArrows,
} from './boundaries/rules.ts';
import { type Reference, references } from './boundaries/scan.ts';

export interface Violation {
  file: string;
  line: number;
  rule: keyof typeof arrowReasons | 'builtin' | 'environment' | 'network-global' | 'syntax';
  message: string;
  reason: string;
}

interface Member {
  layer: 'packages' | 'adapters' | 'apps';
  name: string;
  /** Relative to the root. */
  dir: string;
  exports: readonly string[];
  dependencies: ReadonlySet<string>;
  used: Set<string>;
}

const scope = '@glovebox/';

/** Hold every source file under `root` against the rules. @returns what breaks one, by file and line. */
export function checkBoundaries(root: string): Violation[] {
  const members = readMembers(root);
  const violations: Violation[] = [];
  for (const file of sourceFiles(root)) {
    const from = members.find(({ dir }) => file.startsWith(`${dir}/`));
    const isTest = from === undefined || /\.test\.m?ts$/.test(file) || file.startsWith(`${from.dir}/test/`);
    let found: Reference[] = [];
    try {
      found = references(file, readFileSync(join(root, file), 'utf8'));
    } catch (error) {
      violations.push({
        file,
        line: 1,
        rule: 'syntax',
        message: String(error),
        reason: 'a file that cannot be read cannot be judged',
      });
    }
    for (const reference of found) {
      const broken =
        reference.kind === 'import'
          ? (arrowBroken(root, file, reference, from, members, isTest) ?? builtinBroken(file, reference, isTest))
          : otherBroken(file, reference, isTest);
      if (broken) violations.push({ file, line: reference.line, ...broken });
    }
  }
  return [...violations, ...members.flatMap(unusedDependencies)];
}

type Broken = Pick<Violation, 'rule' | 'message' | 'reason'> | undefined;

const broken = (rule: keyof typeof arrowReasons, message: string): Broken => ({
  rule,
  message,
  reason: arrowReasons[rule],
});

type Import = Extract<Reference, { kind: 'import' }>;

function arrowBroken(
  root: string,
  file: string,
  { specifier, typeOnly }: Import,
  from: Member | undefined,
  members: Member[],
  isTest: boolean,
): Broken {
  if (specifier.startsWith('.')) {
    const target = relative(root, resolve(root, dirname(file), specifier))
      .split(sep)
      .join('/');
    const owner = members.find(({ dir }) => target.startsWith(`${dir}/`));
    // Tests may use what tests share, at the root or in a package.
    if (isTest && (target.startsWith('test/support/') || (owner && target.startsWith(`${owner.dir}/test/`))))
      return undefined;
    // Apps export nothing: whoever drives a part of one from outside (demo, tests, benchmarks) names its file.
    if (from === undefined && owner?.layer === 'apps') return undefined;
    if (owner !== from && owner) return broken('depth', `imports a file of ${scope}${owner.name} by its path`);
    if (from && owner === undefined) return broken('upwards', `imports ${target}, outside of its package`);
    return undefined;
  }
  if (!specifier.startsWith(scope)) return undefined;
  const [name = '', ...rest] = specifier.slice(scope.length).split('/');
  const to = members.find((member) => member.name === name);
  if (!to) return broken('upwards', `imports ${specifier}, which is no package of this repository`);
  if (!to.exports.includes(['.', ...rest].join('/')))
    return broken('depth', `imports ${specifier}, which ${scope}${name} does not export`);
  if (from === undefined) return undefined;
  from.used.add(specifier.slice(0, scope.length + name.length));
  if (to === from || isTest) return undefined;
  if (!from.dependencies.has(`${scope}${name}`))
    return broken('undeclared', `imports ${scope}${name}, which its package.json does not name`);
  return valueArrows[from.name]?.includes(specifier) ? undefined : arrowOf(from, to, typeOnly);
}

function arrowOf(from: Member, to: Member, typeOnly: boolean): Broken {
  const message = `${from.dir} imports ${to.dir}`;
  if (from.layer === 'apps') {
    const allowed = to.layer !== 'apps' || appArrows[from.name]?.includes(to.name);
    return allowed ? undefined : broken('upwards', message);
  }
  if (to.layer === 'apps') return broken('upwards', message);
  if (from.layer === 'adapters') {
    if (to.layer === 'adapters') return broken('adapter', message);
    if (insideCells.includes(to.name) && !mayPackInsideCells.includes(from.name)) return broken('insideCells', message);
    return undefined;
  }
  if (to.layer === 'adapters') return broken('upwards', message);
  const allowed = packageArrows[from.name]?.includes(to.name) || (typeOnly && typeArrows[from.name]?.includes(to.name));
  return allowed ? undefined : broken('package', message);
}

function builtinBroken(file: string, { specifier, typeOnly }: Import, isTest: boolean): Broken {
  // A type opens nothing and starts nothing.
  if (isTest || typeOnly) return undefined;
  const rule = builtinRules.find(({ modules }) =>
    modules.some((name) => specifier === name || specifier.startsWith(`${name}/`)),
  );
  if (!rule || isAllowed(file, rule.allowed)) return undefined;
  return {
    rule: 'builtin',
    message: `imports ${specifier}; allowed in ${rule.allowed.join(', ')}`,
    reason: rule.reason,
  };
}

function otherBroken(file: string, reference: Exclude<Reference, { kind: 'import' }>, isTest: boolean): Broken {
  if (isTest) return undefined;
  switch (reference.kind) {
    case 'computed-import':
      return isAllowed(file, computedImports) ? undefined : broken('computed', 'imports a module by a computed name');
    case 'environment':
      return isAllowed(file, environmentRule.allowed)
        ? undefined
        : { rule: 'environment', message: 'reads process.env', reason: environmentRule.reason };
    case 'network-global': {
      const network = builtinRules.find(({ modules }) => modules.includes('node:net'));
      if (network === undefined || isAllowed(file, network.allowed)) return undefined;
      return { rule: 'network-global', message: `uses the global ${reference.name}`, reason: network.reason };
    }
  }
}

function isAllowed(file: string, allowed: readonly string[]): boolean {
  return allowed.some((start) => file.startsWith(start));
}

function unusedDependencies({ dir, dependencies, used }: Member): Violation[] {
  return [...dependencies]
    .filter((name) => name.startsWith(scope) && !used.has(name))
    .map((name) => ({
      file: `${dir}/package.json`,
      line: 1,
      rule: 'unused' as const,
      message: `names ${name}, which no file imports`,
      reason: arrowReasons.unused,
    }));
}

function readMembers(root: string): Member[] {
  return globSync('{packages,adapters,apps}/*/package.json', { cwd: root })
    .sort()
    .map((path) => {
      const { exports = {}, dependencies = {} } = JSON.parse(readFileSync(join(root, path), 'utf8'));
      const dir = dirname(path).split(sep).join('/');
      return {
        layer: dir.split('/')[0] as Member['layer'],
        name: basename(dir),
        dir,
        exports: Object.keys(exports),
        dependencies: new Set(Object.keys(dependencies)),
        used: new Set<string>(),
      };
    });
}

/** Relative to the root, with `/`, sorted. */
export function sourceFiles(root: string): string[] {
  const places = ['packages', 'adapters', 'apps', 'tools', 'test', 'bench'].filter((place) =>
    existsSync(join(root, place)),
  );
  return globSync(
    places.map((place) => `${place}/**/*.{ts,mts,js,mjs,cjs}`),
    { cwd: root, exclude: (path) => skipped.includes(basename(String(path))) },
  )
    .map((path) => path.split(sep).join('/'))
    .sort();
}

if (import.meta.main) {
  const violations = checkBoundaries(resolve(import.meta.dirname, '..'));
  for (const { file, line, rule, message, reason } of violations)
    console.log(`${file}:${line}: ${rule}: ${message}\n    because ${reason}`);
  console.log(`boundaries: ${violations.length === 0 ? 'all hold' : `${violations.length} broken`}`);
  process.exitCode = violations.length === 0 ? 0 : 1;
}
