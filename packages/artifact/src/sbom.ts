import { type ArtifactConfig, GloveboxError, type Json, type Sbom, sortedByBytes } from '@glovebox/contract';
import { packageUrl, sha512HexOf } from './package-url.ts';

/** The `bom-ref` of the SDK, which is part of the toolchain and of no lockfile. */
const sdkRef = 'sdk';

/**
 * The parts of a bundle in CycloneDX 1.6: the locked packages that have bytes in it, the SDK where it has, and which of
 * them imports which. A package that the bundler left out whole is not among them.
 *
 * @param config of the artifact.
 * @param metafile of the bundler (esbuild's format), for one output.
 * @throws GloveboxError `INTERNAL` when it is no metafile, or names a package that the config does not.
 */
export function composeSbom(config: ArtifactConfig, metafile: Json): Sbom {
  const { inputs, bundled } = readMetafile(metafile);
  const root = rootRef(config);
  const refOf = (input: string): string => placeOf(input) ?? root;
  const refs = new Set([...bundled].map(refOf));
  refs.delete(root);

  const edges = new Map<string, Set<string>>([root, ...refs].map((ref) => [ref, new Set()]));
  for (const [input, imports] of inputs) {
    const from = edges.get(refOf(input));
    if (from === undefined || !bundled.has(input)) continue;
    for (const imported of imports) {
      const to = refOf(imported);
      if (bundled.has(imported) && to !== refOf(input) && to !== root) from.add(to);
    }
  }
  return {
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: {
      tools: { components: config.toolchain.map(asTool) },
      component: {
        type: 'application',
        'bom-ref': root,
        name: config.name,
        version: config.version,
        purl: root,
        licenses: [{ license: { name: config.license } }],
      },
    },
    components: sortedByBytes([...refs]).map((ref) => {
      const component = componentOf(ref, config);
      if (component === undefined)
        throw new GloveboxError('INTERNAL', { message: `${ref} is in the bundle, but not locked` });
      return component;
    }),
    dependencies: sortedByBytes([...edges.keys()]).map((ref) => ({
      ref,
      dependsOn: sortedByBytes([...(edges.get(ref) ?? [])]),
    })),
  };
}

/** The `bom-ref` of the node itself. */
export const rootRef = ({ name, version }: ArtifactConfig): string => packageUrl(name, version);

function asTool(text: string): Sbom['metadata']['tools']['components'][number] {
  const at = text.lastIndexOf('@');
  return at < 1
    ? { type: 'application', name: text, version: '' }
    : { type: 'application', name: text.slice(0, at), version: text.slice(at + 1) };
}

/** What stands for a `bom-ref`, by the config; undefined where nothing may. */
export function componentOf(ref: string, config: ArtifactConfig): Sbom['components'][number] | undefined {
  if (ref === sdkRef) {
    const sdk = config.toolchain.map(asTool).find(({ name }) => name === 'sdk');
    return { type: 'framework', 'bom-ref': ref, name: '@glovebox/sdk', version: sdk?.version ?? '' };
  }
  const dependency = config.dependencies.find(({ path }) => path === ref);
  if (dependency === undefined) return undefined;
  const { name, version, integrity } = dependency;
  return {
    type: 'library',
    'bom-ref': ref,
    name,
    version,
    purl: packageUrl(name, version),
    hashes: [{ alg: 'SHA-512', content: sha512HexOf(integrity) }],
  };
}

/** Where the package of a bundler's input lies in the tree; `sdk` for what is outside of it; undefined for the author's. */
function placeOf(input: string): string | undefined {
  if (input.startsWith('../')) return sdkRef;
  // The bundler's own helpers, such as `<runtime>`, are nobody's.
  if (!input.startsWith('node_modules/')) return undefined;
  const inner = input.lastIndexOf('/node_modules/');
  const nameStart = inner === -1 ? 'node_modules/'.length : inner + '/node_modules/'.length;
  const components = input.slice(nameStart).split('/');
  return input.slice(0, nameStart) + components.slice(0, components[0]?.startsWith('@') ? 2 : 1).join('/');
}

/** @returns what each input imports, and the inputs that have bytes in the output. */
function readMetafile(metafile: Json): { inputs: [string, string[]][]; bundled: Set<string> } {
  const inputs = entriesOf(member(metafile, 'inputs')).map(([path, input]): [string, string[]] => {
    const imports = member(input, 'imports');
    if (!Array.isArray(imports)) throw notMetafile();
    return [path, imports.map((record) => member(record, 'path')).filter((target) => typeof target === 'string')];
  });
  const bundled = new Set<string>();
  for (const [, output] of entriesOf(member(metafile, 'outputs'))) {
    // The source map has no inputs.
    for (const [path, input] of entriesOf(member(output, 'inputs') ?? {})) {
      if (member(input, 'bytesInOutput') !== 0) bundled.add(path);
    }
  }
  return { inputs, bundled };
}

function entriesOf(value: Json | undefined): [string, Json][] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw notMetafile();
  return Object.entries(value);
}

function member(value: Json | undefined, key: string): Json | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  return Object.hasOwn(value, key) ? value[key] : undefined;
}

const notMetafile = (): GloveboxError =>
  new GloveboxError('INTERNAL', { message: 'the metafile of the bundle cannot be read' });
