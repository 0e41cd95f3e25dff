import type { Json } from '@glovebox/contract';
import type { Pattern } from './pattern.ts';
import type { Check } from './run.ts';

export const typeNames = ['null', 'boolean', 'object', 'array', 'number', 'string', 'integer'] as const;
export type TypeName = (typeof typeNames)[number];

/** A schema that was read: each keyword that it has, checked in form, sub-schemas read likewise. */
export interface SchemaNode {
  /** JSON Pointer in the schema document. */
  readonly path: string;
  /** Set for `true` and `false`, which have nothing else. */
  verdict?: boolean;
  /** What its keywords need, found out when it is first met. */
  checks?: readonly Check[];
  types?: ReadonlySet<TypeName>;
  enum?: readonly Json[];
  const?: { value: Json };
  ref?: SchemaNode;

  properties?: ReadonlyMap<string, SchemaNode>;
  patternProperties?: readonly { pattern: Pattern; schema: SchemaNode }[];
  additionalProperties?: SchemaNode;
  propertyNames?: SchemaNode;
  required?: readonly string[];
  dependentRequired?: ReadonlyMap<string, readonly string[]>;
  minProperties?: number;
  maxProperties?: number;

  prefixItems?: readonly SchemaNode[];
  items?: SchemaNode;
  contains?: SchemaNode;
  minContains?: number;
  maxContains?: number;
  minItems?: number;
  maxItems?: number;
  uniqueItems?: boolean;

  minLength?: number;
  maxLength?: number;
  pattern?: Pattern;
  format?: string;

  minimum?: number;
  maximum?: number;
  exclusiveMinimum?: number;
  exclusiveMaximum?: number;
  multipleOf?: number;

  allOf?: readonly SchemaNode[];
  anyOf?: readonly SchemaNode[];
  oneOf?: readonly SchemaNode[];
  not?: SchemaNode;
  /** `if`, `then` and `else`. */
  condition?: SchemaNode;
  consequence?: SchemaNode;
  alternative?: SchemaNode;
}

/** The schemas that apply to the same value as the one that holds them. */
export function inPlace(node: SchemaNode): SchemaNode[] {
  const { allOf = [], anyOf = [], oneOf = [], ref, not, condition, consequence, alternative } = node;
  const single = [ref, not, condition, consequence, alternative];
  return [...allOf, ...anyOf, ...oneOf, ...single.filter((one) => one !== undefined)];
}
