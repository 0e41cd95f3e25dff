import {
  idPatterns,
  type Json,
  jsonTextDepth,
  type Manifest,
  manifestJsonSchema,
  manifestLimits,
  manifestSchema,
} from '@glovebox/contract';
import type { Findings } from '../findings.ts';
import type { Segment } from '../json/pointer.ts';
import { readJsonFile } from '../json/read.ts';
import { type Told, ToldOf } from '../json/told.ts';
import { isObject, valueAt } from '../json/value.ts';
import { nearest, unmistakable } from '../suggest.ts';
import { quoted } from '../text.ts';
import { checkManifestRules } from './manifest-rules.ts';

export const manifestFile = 'node.json';
const authorSchemas: readonly string[] = ['input', 'config', 'output'];

/** What is wrong in a manifest; the rule is `MANIFEST_INVALID` where left out. */
export type ManifestProblem = Omit<Told, 'rule'> & Partial<Pick<Told, 'rule'>>;

/**
 * Check node.json: text, schema, limits of the author's schemas, and the rules between fields. Every problem is a finding
 * with JSON Pointer, line and column. The author's schemas are not looked into here.
 *
 * @param id what `id` has to be: the unscoped name in package.json; undefined where that is not known.
 * @returns the manifest with its defaults; undefined when it has errors.
 */
export function readManifest(bytes: Uint8Array, id: string | undefined, findings: Findings): Manifest | undefined {
  const limits = { maxBytes: manifestLimits.manifestBytes, maxDepth: manifestLimits.manifestDepth };
  const json = readJsonFile(manifestFile, bytes, limits, 'MANIFEST_INVALID', findings);
  if (json === undefined) return undefined;

  const problems = [...schemaLimits(json.value), ...idProblems(json.value, id), ...prototypeProblems(json.value, [])];
  const parsed = manifestSchema.safeParse(json.value);
  if (parsed.success) problems.push(...checkManifestRules(parsed.data, json.value));
  else {
    const known = new KnownKeys();
    problems.push(...parsed.error.issues.flatMap((issue) => fromIssue(issue as Issue, json.value, known)));
  }
  const told = new ToldOf(json);
  for (const problem of problems) told.tell({ rule: 'MANIFEST_INVALID', ...problem });
  told.report(findings);
  return parsed.success && !told.hasErrors ? parsed.data : undefined;
}

/** A field as a reader would write it: `capabilities.http.rules[0].host`. */
export function fieldName(path: readonly Segment[]): string {
  if (path.length === 0) return manifestFile;
  let name = '';
  for (const segment of path) {
    if (typeof segment === 'number') name += `[${segment}]`;
    else if (/^[A-Za-z_$][\w$-]{0,63}$/.test(segment)) name += name === '' ? segment : `.${segment}`;
    else name += `[${quoted(segment)}]`;
  }
  return name;
}

/** Size and depth of the author's schemas, so that no later reader has to fear them. */
function schemaLimits(manifest: Json): ManifestProblem[] {
  if (!isObject(manifest)) return [];
  const problems: ManifestProblem[] = [];
  for (const name of authorSchemas) {
    const schema = manifest[name];
    if (schema === undefined) continue;
    const text = JSON.stringify(schema);
    const bytes = Buffer.byteLength(text);
    if (bytes > manifestLimits.schemaBytes) {
      problems.push({
        path: [name],
        message: `${name}: the schema is ${bytes} bytes; at most ${manifestLimits.schemaBytes}`,
      });
    }
    const depth = jsonTextDepth(text);
    if (depth > manifestLimits.schemaDepth) {
      problems.push({
        path: [name],
        message: `${name}: the schema nests ${depth} levels; at most ${manifestLimits.schemaDepth}`,
      });
    }
  }
  return problems;
}

function idProblems(manifest: Json, id: string | undefined): ManifestProblem[] {
  const found = valueAt(manifest, ['id']);
  if (typeof found !== 'string' || id === undefined || found === id) return [];
  const message = `id: is ${quoted(found)}, but the name in package.json says ${quoted(id)}`;
  const fix = idPatterns.node.test(id) ? { title: `Set id to ${id}`, replace: 'value' as const, json: id } : undefined;
  return [{ path: ['id'], message, hint: 'They must be the same, a scope left out.', fix }];
}

/** A member that object code may take for the prototype: the schema's reader skips it in silence. Author schemas are data. */
function prototypeProblems(value: Json, path: readonly Segment[]): ManifestProblem[] {
  if (typeof value !== 'object' || value === null) return [];
  const problems: ManifestProblem[] = [];
  for (const key of Object.keys(value)) {
    const at = [...path, Array.isArray(value) ? Number(key) : key];
    if (path.length === 0 && authorSchemas.includes(key)) continue;
    if (key === '__proto__')
      problems.push({ path: at, message: `${fieldName(at)}: unknown field`, hint: 'Remove it.', at: 'key' });
    else problems.push(...prototypeProblems((value as { [key: string]: Json })[key] as Json, at));
  }
  return problems;
}

/** What zod tells of one problem; fields by its `code`. */
interface Issue {
  code: string;
  path: Segment[];
  message: string;
  keys?: string[];
  values?: Json[];
  expected?: string;
  origin?: string;
  minimum?: number;
  maximum?: number;
  issues?: Issue[];
}

function fromIssue(issue: Issue, manifest: Json, knownKeys: KnownKeys): ManifestProblem[] {
  const { path } = issue;
  const field = fieldName(path);
  const value = valueAt(manifest, path);

  if (issue.code === 'unrecognized_keys') {
    const known = knownKeys.at(path);
    const keys = (issue.keys ?? []).filter((key) => key !== '__proto__');
    const renamed = renaming(valueAt(manifest, path), keys, known);
    return keys.map((key) => {
      const meant = nearest(key, known);
      const hint = meant === undefined ? `Known here: ${known.join(', ') || 'none'}.` : `Did you mean ${meant}?`;
      const message = `${fieldName([...path, key])}: unknown field`;
      return { path: [...path, key], message, hint, at: 'key', fix: renamed.get(key) };
    });
  }
  if (value === undefined) return [{ path, message: `${field}: is missing`, hint: `It is ${describe(issue)}.` }];
  if (issue.code === 'invalid_key') {
    const why = issue.issues?.[0]?.message ?? 'is not a valid name';
    return [{ path, message: `${field}: the name ${why}`, at: 'key' }];
  }
  if (issue.code === 'invalid_value') {
    const values = issue.values ?? [];
    const words = values.filter((word) => typeof word === 'string');
    const meant = typeof value === 'string' ? nearest(value, words) : undefined;
    const sure = typeof value === 'string' ? unmistakable(value, words) : undefined;
    const message = `${field}: must be ${describe(issue)}, not ${show(value)}`;
    return [
      {
        path,
        message,
        ...(meant === undefined ? {} : { hint: `Did you mean ${JSON.stringify(meant)}?` }),
        ...(sure === undefined
          ? {}
          : { fix: { title: `Write ${JSON.stringify(sure)}`, replace: 'value' as const, json: sure } }),
      },
    ];
  }
  if (issue.code === 'invalid_type')
    return [{ path, message: `${field}: must be ${describe(issue)}, not ${show(value)}` }];
  if (issue.code === 'too_small' || issue.code === 'too_big') {
    return [{ path, message: `${field}: must be ${describe(issue)}` }];
  }
  return [{ path, message: `${field}: ${issue.message.replace(/^Invalid [a-z]+: /, '')}` }];
}

/** What unknown members are to be called, where that is beyond doubt: never as another member, of the author or by this. */
function renaming(
  owner: Json | undefined,
  keys: readonly string[],
  known: readonly string[],
): Map<string, ManifestProblem['fix']> {
  const free = known.filter((name) => isObject(owner) && !Object.hasOwn(owner, name));
  const meant = keys.map((key) => ({ key, name: unmistakable(key, known) }));
  return new Map(
    meant
      .filter(({ key, name }) => meant.every((other) => other.key === key || other.name !== name))
      .flatMap(({ key, name }) =>
        name !== undefined && free.includes(name)
          ? [[key, { title: `Rename it to ${name}`, replace: 'key', json: name }] as const]
          : [],
      ),
  );
}

function describe(issue: Issue): string {
  if (issue.code === 'invalid_value')
    return (issue.values ?? []).length === 1
      ? show(issue.values?.[0] ?? null)
      : `one of ${(issue.values ?? []).map(show).join(', ')}`;
  if (issue.code === 'too_small' || issue.code === 'too_big') {
    const [word, bound] = issue.code === 'too_small' ? ['at least', issue.minimum] : ['at most', issue.maximum];
    const unit = { string: ' characters long', array: ' long' }[issue.origin ?? ''] ?? '';
    return `${word} ${bound}${unit}`;
  }
  const names: { [name: string]: string } = {
    int: 'a whole number',
    array: 'an array',
    object: 'an object',
    record: 'an object',
    boolean: 'true or false',
  };
  return issue.expected === undefined ? 'a JSON Schema object' : (names[issue.expected] ?? `a ${issue.expected}`);
}

function show(value: Json): string {
  if (Array.isArray(value)) return 'an array';
  if (typeof value === 'object' && value !== null) return 'an object';
  return typeof value === 'string' ? quoted(value) : String(value);
}

/** The fields that the schema of node.json has at a place. */
class KnownKeys {
  /** Made once, when first asked: it takes longer than all the rest. */
  #schema: Json | undefined;

  at(path: readonly Segment[]): string[] {
    this.#schema ??= manifestJsonSchema();
    let schema: Json | undefined = this.#schema;
    for (const segment of path) {
      if (!isObject(schema)) return [];
      const own: Json | undefined = valueAt(schema, ['properties', segment]);
      schema = typeof segment === 'number' ? schema.items : (own ?? schema.additionalProperties);
    }
    const properties = isObject(schema) ? schema.properties : undefined;
    return isObject(properties) ? Object.keys(properties) : [];
  }
}
