export { type CompileResult, compileSchema, keywordNames } from './compile.ts';
export { evaluateSchema } from './evaluate.ts';
export { schemaLimits } from './limits.ts';
export type { SchemaNode } from './node.ts';
export { type Misfit, type SchemaProblem, TooCostly } from './problem.ts';
