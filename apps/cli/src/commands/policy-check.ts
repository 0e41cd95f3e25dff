import { existsSync } from 'node:fs';
import { type HttpRule, parseReference } from '@glovebox/contract';
import { readNodePackage } from '@glovebox/validate';
import { openPackages } from '../adapters.ts';
import { usage } from '../args.ts';
import type { CommandContext } from '../commands.ts';
import { type Config, loadConfig } from '../config.ts';
import { openApi } from '../local-api.ts';
import { requireDirectory } from '../package-upload.ts';
import { verdictText } from '../policy-text.ts';
import { projectOf } from '../project.ts';
import { releaseOf } from '../release-argument.ts';
import { packageInvalid } from '../trial-upload.ts';

/** The exit status of a denial: refused by policy. */
const exitDenied = 4;

export async function run({ args, output }: CommandContext): Promise<number> {
  const [method = '', url = ''] = args.positionals;
  // As fetch does with the methods that it knows.
  const asked = { method: method.toUpperCase(), url };
  const config = await loadConfig(args.global.dataDir);
  const { project, ...declared } = await declarationOf(
    args.options.node as string | undefined,
    projectOf(args),
    config,
  );
  const { client, close } = await openApi(config);
  try {
    const verdict = await client.call('policy.check', {
      params: { project },
      body: {
        ...asked,
        ...declared,
        websocket: args.options.websocket === true,
        addresses: args.options.resolve === true ? 'look-up' : 'none',
      },
    });
    output.result(verdict, () => verdictText(verdict, asked));
    return verdict.allowed ? 0 : exitDenied;
  } finally {
    await close();
  }
}

/** What is declared: by a release, by the manifest of a directory, or by nothing, where no node is named. */
async function declarationOf(
  node: string | undefined,
  project: string,
  config: Config,
): Promise<{ project: string; node?: string; rules?: HttpRule[] }> {
  if (node === undefined) return { project };
  const isReference = parseReference(node) !== undefined;
  if (isReference && existsSync(node))
    throw usage(
      'policy check',
      `--node ${node} is a directory here: name it ./${node}, or the release ${project}/${node}`,
    );
  if (!isReference) return { project, rules: await rulesOf(node, config) };
  const release = releaseOf(node, project);
  return { project: release.project, node: release.reference };
}

/** @throws GloveboxError `NOT_FOUND`, `PACKAGE_INVALID` with the findings. */
async function rulesOf(dir: string, config: Config): Promise<HttpRule[]> {
  await requireDirectory(dir);
  const read = await readNodePackage(dir, { registries: (await openPackages(config)).registries() });
  if (!read.ok) throw packageInvalid(dir, read.findings);
  return read.pkg.manifest.capabilities.http?.rules ?? [];
}
