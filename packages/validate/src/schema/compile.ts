import type { Json } from '@glovebox/contract';
import { escapeSegment, shortPointer } from '../json/pointer.ts';
import { isObject } from '../json/value.ts';
import { nearest } from '../suggest.ts';
import { quoted, shortened } from '../text.ts';
import { formats } from './format.ts';
import { schemaLimits } from './limits.ts';
import { type SchemaNode, type TypeName, typeNames } from './node.ts';
import { compilePattern, type LoadEngine, loadEngine, type Pattern, uncompiled } from './pattern.ts';
import type { SchemaProblem } from './problem.ts';
import { linkReferences } from './references.ts';

export type CompileResult = { ok: true; root: SchemaNode } | { ok: false; problems: SchemaProblem[] };

/**
 * Read a JSON Schema (2020-12). The list of keywords is closed: what is not known is refused by name, so a schema
 * never promises a check that is not made. Nothing is fetched and no code is generated.
 *
 * Bounded by the size of the schema; deeper than schemaLimits.depth is refused before anything recurses into it.
 */
export async function compileSchema(schema: Json, load: LoadEngine = loadEngine): Promise<CompileResult> {
  const reader = new Reader();
  if (deeperThan(schema, schemaLimits.depth)) {
    reader.refuse('', `nests deeper than ${schemaLimits.depth} levels`, undefined, 'SCHEMA_TOO_COSTLY');
    return { ok: false, problems: reader.problems };
  }
  const root = reader.read(schema, '');
  linkReferences(root, reader.nodes, reader.references, reader.refuse);
  await reader.compilePatterns(load);
  return reader.problems.length === 0 ? { ok: true, root } : { ok: false, problems: reader.problems };
}

export type Refuse = (path: string, message: string, hint?: string, rule?: SchemaProblem['rule']) => void;

const annotations: ReadonlySet<string> = new Set([
  'title',
  'description',
  'default',
  'examples',
  '$comment',
  'deprecated',
  'readOnly',
  'writeOnly',
]);

const dialect = /^https?:\/\/json-schema\.org\/draft\/2020-12\/schema#?$/;

type Keyword = (reader: Reader, node: SchemaNode, value: Json, path: string) => void;

const keywords: { readonly [name: string]: Keyword } = {
  $schema: (reader, _node, value, path) => {
    if (typeof value !== 'string' || !dialect.test(value))
      reader.refuse(path, 'must name the dialect 2020-12', 'Remove it.');
  },
  $defs: (reader, _node, value, path) => void reader.schemaMap(value, path),
  $ref: (reader, node, value, path) => {
    if (typeof value === 'string') reader.references.push({ node, target: value, path });
    else reader.refuse(path, 'must be a string');
  },
  type: (reader, node, value, path) => {
    const names = typeof value === 'string' ? [value] : value;
    const known = (name: Json): name is TypeName => (typeNames as readonly Json[]).includes(name);
    if (Array.isArray(names) && names.length > 0 && names.every(known)) node.types = new Set(names);
    else reader.refuse(path, `must be one or several of ${typeNames.join(', ')}`);
  },
  enum: (reader, node, value, path) => {
    if (Array.isArray(value) && value.length > 0) node.enum = value;
    else reader.refuse(path, 'must be an array that is not empty');
  },
  const: (_reader, node, value) => {
    node.const = { value };
  },

  properties: (reader, node, value, path) => {
    node.properties = reader.schemaMap(value, path);
  },
  patternProperties: (reader, node, value, path) => {
    node.patternProperties = [...reader.schemaMap(value, path)].map(([source, schema]) => ({
      pattern: reader.pattern(source, `${path}/${escapeSegment(source)}`),
      schema,
    }));
  },
  additionalProperties: (reader, node, value, path) => {
    node.additionalProperties = reader.read(value, path);
  },
  propertyNames: (reader, node, value, path) => {
    node.propertyNames = reader.read(value, path);
  },
  required: (reader, node, value, path) => {
    node.required = reader.names(value, path);
  },
  dependentRequired: (reader, node, value, path) => {
    if (!isObject(value)) reader.refuse(path, 'must be an object');
    else
      node.dependentRequired = new Map(
        Object.keys(value).map((key) => [key, reader.names(value[key] ?? null, `${path}/${escapeSegment(key)}`)]),
      );
  },

  prefixItems: (reader, node, value, path) => {
    node.prefixItems = reader.schemaList(value, path);
  },
  items: (reader, node, value, path) => {
    if (Array.isArray(value)) reader.refuse(path, 'must be a schema', 'Write prefixItems for a list of schemas.');
    else node.items = reader.read(value, path);
  },
  contains: (reader, node, value, path) => {
    node.contains = reader.read(value, path);
  },
  uniqueItems: (reader, node, value, path) => {
    if (typeof value === 'boolean') node.uniqueItems = value;
    else reader.refuse(path, 'must be true or false');
  },

  pattern: (reader, node, value, path) => {
    if (typeof value === 'string') node.pattern = reader.pattern(value, path);
    else reader.refuse(path, 'must be a string');
  },
  format: (reader, node, value, path) => {
    if (typeof value === 'string' && Object.hasOwn(formats, value)) node.format = value;
    else
      reader.refuse(
        path,
        `${typeof value === 'string' ? quoted(value) : 'what is no string'} is not a known format`,
        `Known are ${Object.keys(formats).join(', ')}.`,
      );
  },
  multipleOf: (reader, node, value, path) => {
    if (typeof value === 'number' && value > 0) node.multipleOf = value;
    else reader.refuse(path, 'must be a number above 0');
  },

  allOf: (reader, node, value, path) => {
    node.allOf = reader.schemaList(value, path);
  },
  anyOf: (reader, node, value, path) => {
    node.anyOf = reader.schemaList(value, path);
  },
  oneOf: (reader, node, value, path) => {
    node.oneOf = reader.schemaList(value, path);
  },
  not: (reader, node, value, path) => {
    node.not = reader.read(value, path);
  },
  if: (reader, node, value, path) => {
    node.condition = reader.read(value, path);
  },
  // biome-ignore lint/suspicious/noThenProperty: the name of the keyword
  then: (reader, node, value, path) => {
    node.consequence = reader.read(value, path);
  },
  else: (reader, node, value, path) => {
    node.alternative = reader.read(value, path);
  },
};

const counts = [
  'minLength',
  'maxLength',
  'minItems',
  'maxItems',
  'minContains',
  'maxContains',
  'minProperties',
  'maxProperties',
] as const;
const bounds = ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum'] as const;
const isCount = (name: string): name is (typeof counts)[number] => (counts as readonly string[]).includes(name);
const isBound = (name: string): name is (typeof bounds)[number] => (bounds as readonly string[]).includes(name);

/** Every keyword that is understood, those that check nothing included. */
export const keywordNames: readonly string[] = [...Object.keys(keywords), ...counts, ...bounds, ...annotations].sort();

const instead: { readonly [keyword: string]: string } = {
  definitions: 'Write $defs.',
  additionalItems: 'Write items after prefixItems.',
  dependencies: 'Write dependentRequired.',
  nullable: 'Write type with "null" in a list.',
  $id: 'Remove it: references are local, "#/$defs/…".',
  $anchor: 'Refer by path: "#/$defs/…".',
  $dynamicRef: 'Write $ref.',
  unevaluatedProperties: 'Write additionalProperties.',
  unevaluatedItems: 'Write items.',
};

class Reader {
  readonly problems: SchemaProblem[] = [];
  /** Every schema of the document by its path: what a reference may point to. */
  readonly nodes = new Map<string, SchemaNode>();
  readonly references: { node: SchemaNode; target: string; path: string }[] = [];
  readonly #patterns: { pattern: Pattern; path: string }[] = [];

  readonly refuse: Refuse = (path, message, hint, rule = 'SCHEMA_UNSUPPORTED') => {
    if (this.problems.length >= schemaLimits.problems) return;
    this.problems.push({
      rule,
      path: shortPointer(path, schemaLimits.pathLength),
      message: shortened(message, schemaLimits.messageLength),
      ...(hint === undefined ? {} : { hint }),
    });
  };

  read(schema: Json, path: string): SchemaNode {
    const node: SchemaNode = { path };
    this.nodes.set(path, node);
    if (typeof schema === 'boolean') node.verdict = schema;
    else if (!isObject(schema)) this.refuse(path, 'must be a schema: an object, true or false');
    else
      for (const name of Object.keys(schema))
        this.#keyword(node, name, schema[name] as Json, `${path}/${escapeSegment(name)}`);
    return node;
  }

  #keyword(node: SchemaNode, name: string, value: Json, path: string): void {
    if (annotations.has(name)) return;
    if (isCount(name)) {
      if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) node[name] = value;
      else this.refuse(path, 'must be a whole number from 0');
    } else if (isBound(name)) {
      if (typeof value === 'number') node[name] = value;
      else this.refuse(path, 'must be a number');
    } else if (Object.hasOwn(keywords, name)) keywords[name]?.(this, node, value, path);
    else {
      const meant = nearest(name, keywordNames);
      const hint = Object.hasOwn(instead, name)
        ? instead[name]
        : meant === undefined
          ? undefined
          : `Did you mean ${meant}?`;
      this.refuse(path, `the keyword ${quoted(name)} is not supported`, hint);
    }
  }

  schemaMap(value: Json, path: string): Map<string, SchemaNode> {
    const map = new Map<string, SchemaNode>();
    if (!isObject(value)) this.refuse(path, 'must be an object of schemas');
    else
      for (const key of Object.keys(value))
        map.set(key, this.read(value[key] as Json, `${path}/${escapeSegment(key)}`));
    return map;
  }

  schemaList(value: Json, path: string): SchemaNode[] {
    if (Array.isArray(value) && value.length > 0)
      return value.map((schema, index) => this.read(schema, `${path}/${index}`));
    this.refuse(path, 'must be a list of schemas that is not empty');
    return [];
  }

  names(value: Json, path: string): string[] {
    if (Array.isArray(value) && value.every((name) => typeof name === 'string')) return value;
    this.refuse(path, 'must be a list of names');
    return [];
  }

  pattern(source: string, path: string): Pattern {
    const pattern = uncompiled(source);
    this.#patterns.push({ pattern, path });
    return pattern;
  }

  async compilePatterns(load: LoadEngine): Promise<void> {
    let program = 0;
    for (const { pattern, path } of this.#patterns) {
      const problem = await compilePattern(pattern, load);
      if (problem !== undefined) {
        this.refuse(
          path,
          `the pattern ${quoted(pattern.source)} ${problem}`,
          'Patterns run on RE2: no look-around, no back-references.',
        );
        continue;
      }
      program += pattern.size;
      if (program <= schemaLimits.patternProgram) continue;
      this.refuse(
        path,
        'the patterns of the schema are too large together',
        'Use smaller repetitions.',
        'SCHEMA_TOO_COSTLY',
      );
      return;
    }
  }
}

/** Without recursion, so that depth itself cannot hurt. */
function deeperThan(value: Json, limit: number): boolean {
  const open: { value: Json; depth: number }[] = [{ value, depth: 0 }];
  for (let top = open.pop(); top !== undefined; top = open.pop()) {
    if (typeof top.value !== 'object' || top.value === null) continue;
    if (top.depth === limit) return true;
    for (const below of Object.values(top.value)) open.push({ value: below, depth: top.depth + 1 });
  }
  return false;
}
