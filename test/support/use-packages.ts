import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { CheckResult, DraftState, ReportFinding } from '@glovebox/contract';
import type { CliOptions, CliRun } from './cli.ts';
import { type CliHome, useCli } from './use-cli.ts';
import { goodPackage } from './validation.ts';

/** As `node validate --json` prints it. */
export interface ValidationDocument {
  draft: { project: string; id: string; revision: string } | null;
  state: DraftState;
  artifact: string | null;
  checks: CheckResult[];
  findings: ReportFinding[];
  fixes?: { rule: string; title: string; files: string[] }[];
}

export interface PackageHome {
  cli: () => CliHome;
  /** Write a package that passes, of the id that is the directory's name, with files replaced, added, or (null) left out. */
  write(name: string, files?: { [path: string]: string | null }): string;
  validate(name: string, ...more: string[]): Promise<CliRun & { document: ValidationDocument }>;
  run(...args: string[]): Promise<CliRun>;
}

/** A home of the CLI, and packages in it. */
export function usePackages(): PackageHome {
  const cli = useCli();
  const run = (args: string[], options: Partial<CliOptions> = {}) => cli().run(args, options);
  return {
    cli,
    write(name, files = {}) {
      const dir = join(cli().dir, name);
      for (const [path, bytes] of goodPackage(named(name, files))) {
        mkdirSync(dirname(join(dir, path)), { recursive: true });
        writeFileSync(join(dir, path), bytes);
      }
      return dir;
    },
    async validate(name, ...more) {
      const ran = await run(['node', 'validate', name, '--json', ...more]);
      return { ...ran, document: ran.json() as unknown as ValidationDocument };
    },
    run: (...args) => run(args),
  };
}

function named(id: string, files: { [path: string]: string | null }): { [path: string]: string | null } {
  const base = goodPackage();
  const renamed = (path: string): string => `${base.get(path)}`.replaceAll('"adder"', JSON.stringify(id));
  return { 'node.json': renamed('node.json'), 'package.json': renamed('package.json'), ...files };
}

/** JSON of a file of the package of that id, with members replaced or added. */
export function jsonOf(id: string, path: 'node.json' | 'package.json', more: object): string {
  const { [path]: text } = named(id, {});
  return JSON.stringify({ ...JSON.parse(text as string), ...more }, undefined, 2);
}
