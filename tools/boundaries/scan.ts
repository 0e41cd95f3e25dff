import { builtinModules } from 'node:module';
import { type Expression, type Program, parseSync, Visitor } from 'oxc-parser';

/** One thing that a file reaches for outside itself. Lines count from 1. */
export type Reference =
  | { kind: 'import'; specifier: string; typeOnly: boolean; line: number }
  /** A module whose name is computed, so that nobody can tell which. */
  | { kind: 'computed-import'; line: number }
  | { kind: 'environment'; line: number }
  /** A global that opens connections, such as `fetch`. */
  | { kind: 'network-global'; name: string; line: number };

const networkGlobals = ['fetch', 'WebSocket', 'EventSource'];
const moduleLoaders = ['require', 'getBuiltinModule'];

/**
 * Everything that a TypeScript or JavaScript file reaches for: static and dynamic imports, re-exports, types,
 * `require`, `import.meta.resolve`, `process.getBuiltinModule`, `process.env`, network globals.
 *
 * Specifiers of Node.js's own modules are given with `node:`, however they are written.
 *
 * It reads our own sources. It is no defence: code that means to hide an import can.
 *
 * @throws Error where the file has no valid syntax.
 */
export function references(file: string, text: string): Reference[] {
  const parsed = parseSync(file, text, { preserveParens: false });
  const fault = parsed.errors.find((error) => error.severity === 'Error');
  if (fault) throw new Error(`${file}: ${fault.message}`);
  const found: Reference[] = [];
  const lineAt = (offset: number) => text.slice(0, offset).split('\n').length;
  const add = (specifier: string, typeOnly: boolean, at: number) =>
    found.push({ kind: 'import', specifier: canonical(specifier), typeOnly, line: lineAt(at) });
  const load = (argument: Expression | undefined, at: number) => {
    const specifier = literal(argument);
    if (specifier === undefined) found.push({ kind: 'computed-import', line: lineAt(at) });
    else add(specifier, false, at);
  };

  for (const { moduleRequest, entries, start } of parsed.module.staticImports) {
    add(moduleRequest.value, entries.length > 0 && entries.every((entry) => entry.isType), start);
  }
  for (const { entries, start } of parsed.module.staticExports) {
    const from = entries.filter((entry) => entry.moduleRequest !== null);
    const specifier = from[0]?.moduleRequest?.value;
    if (specifier !== undefined)
      add(
        specifier,
        from.every((entry) => entry.isType),
        start,
      );
  }
  const bound = new Set(
    parsed.module.staticImports.flatMap(({ entries }) => entries.map((entry) => entry.localName.value)),
  );

  const shadows = parameterScopes(parsed.program, 'process');
  const isShadowed = (at: number) => shadows.some(({ start, end }) => start <= at && at < end);

  new Visitor({
    ImportExpression: ({ source, start }) => load(source, start),
    TSImportType: ({ source, start }) => add(source.value, true, start),
    CallExpression({ callee, arguments: [first], start }) {
      const argument = first?.type === 'SpreadElement' ? undefined : first;
      const name =
        callee.type === 'Identifier'
          ? callee.name
          : memberOf(callee, 'process')?.replace(/^(?!getBuiltinModule$).*$/, '');
      if (name && moduleLoaders.includes(name)) load(argument, start);
      // However a package is resolved (import.meta.resolve, require.resolve, a helper): its name is passed as it stands.
      const specifier = literal(argument);
      if (specifier && /^@glovebox\/\w/.test(specifier)) add(specifier, false, start);
    },
    MemberExpression(node) {
      if (memberOf(node, 'process') === 'env' && !isShadowed(node.start))
        found.push({ kind: 'environment', line: lineAt(node.start) });
      const name = memberOf(node, 'globalThis');
      if (name && networkGlobals.includes(name)) found.push({ kind: 'network-global', name, line: lineAt(node.start) });
    },
    VariableDeclarator({ id, init, start }) {
      networkValue(init);
      if (init?.type === 'Identifier' && init.name === 'globalThis' && id.type === 'ObjectPattern') {
        for (const property of id.properties) {
          const name = property.type === 'Property' ? nameOf(property.key) : undefined;
          if (name && networkGlobals.includes(name)) found.push({ kind: 'network-global', name, line: lineAt(start) });
        }
      }
      const fromProcess = init?.type === 'Identifier' && init.name === 'process' && id.type === 'ObjectPattern';
      if (
        fromProcess &&
        id.properties.some((property) => property.type === 'Property' && nameOf(property.key) === 'env')
      ) {
        found.push({ kind: 'environment', line: lineAt(start) });
      }
    },
    ImportDeclaration({ source, specifiers, start }) {
      if (canonical(source.value) !== 'node:process') return;
      if (specifiers.some((each) => each.type === 'ImportSpecifier' && nameOf(each.imported) === 'env')) {
        found.push({ kind: 'environment', line: lineAt(start) });
      }
    },
    AssignmentExpression: ({ right }) => networkValue(right),
    AssignmentPattern: ({ right }) => networkValue(right),
    LogicalExpression({ left, right }) {
      networkValue(left);
      networkValue(right);
    },
    ConditionalExpression({ consequent, alternate }) {
      networkValue(consequent);
      networkValue(alternate);
    },
    Property: ({ value }) => networkValue(value),
    ArrowFunctionExpression: ({ body }) => networkValue(body),
    ReturnStatement: ({ argument }) => networkValue(argument),
    'CallExpression:exit'({ callee, arguments: passed, start }) {
      networkUse(callee, start);
      for (const argument of passed) networkValue(argument);
    },
    NewExpression: ({ callee, start }) => networkUse(callee, start),
  }).visit(parsed.program);
  return found;

  function networkUse(callee: Expression, start: number) {
    if (callee.type === 'Identifier' && networkGlobals.includes(callee.name) && !bound.has(callee.name)) {
      found.push({ kind: 'network-global', name: callee.name, line: lineAt(start) });
    }
  }

  /** One that is handed on connects wherever it is called. A name that the file gives to something of its own is that. */
  function networkValue(node: { type: string; start: number } | null | undefined) {
    const name = node?.type === 'Identifier' ? nameOf(node) : undefined;
    if (node == null || name === undefined || !networkGlobals.includes(name)) return;
    if (!bound.has(name) && !declares(parsed.program, name))
      found.push({ kind: 'network-global', name, line: lineAt(node.start) });
  }
}

/** Where a parameter of that name, or a part of one, hides the global. */
function parameterScopes(program: Program, name: string): { start: number; end: number }[] {
  const scopes: { start: number; end: number }[] = [];
  const note = (node: { params: readonly unknown[]; start: number; end: number }) => {
    if (node.params.some((param) => binds(param, name))) scopes.push(node);
  };
  new Visitor({ ArrowFunctionExpression: note, FunctionDeclaration: note, FunctionExpression: note }).visit(program);
  return scopes;
}

/** Whether anything in the file has that name: a variable, a function, a parameter, or a part of one. */
function declares(program: Program, name: string): boolean {
  let isDeclared = parameterScopes(program, name).length > 0;
  new Visitor({
    VariableDeclarator({ id, init }) {
      if (init?.type !== 'Identifier' || init.name !== 'globalThis') isDeclared ||= binds(id, name);
    },
    FunctionDeclaration({ id }) {
      isDeclared ||= id?.name === name;
    },
  }).visit(program);
  return isDeclared;
}

function binds(pattern: unknown, name: string): boolean {
  if (typeof pattern !== 'object' || pattern === null) return false;
  const node = pattern as { type?: string; name?: string; [key: string]: unknown };
  switch (node.type) {
    case 'Identifier':
      return node.name === name;
    case 'ObjectPattern':
      return (node.properties as { value?: unknown; argument?: unknown }[]).some((each) =>
        binds(each.value ?? each.argument, name),
      );
    case 'ArrayPattern':
      return (node.elements as unknown[]).some((each) => binds(each, name));
    case 'AssignmentPattern':
      return binds(node.left, name);
    case 'RestElement':
      return binds(node.argument, name);
    default:
      return false;
  }
}

/** `x` in `object.x`, `object['x']` and `globalThis.object.x`. */
function memberOf(node: Expression, object: string): string | undefined {
  if (node.type !== 'MemberExpression') return undefined;
  const target = node.object;
  const matches =
    (target.type === 'Identifier' && target.name === object) ||
    (target.type === 'MemberExpression' &&
      target.object.type === 'Identifier' &&
      target.object.name === 'globalThis' &&
      nameOf(target.property) === object);
  return matches ? nameOf(node.property) : undefined;
}

function nameOf(node: { type: string; name?: unknown; value?: unknown }): string | undefined {
  const name = node.type === 'Literal' ? node.value : node.name;
  return typeof name === 'string' ? name : undefined;
}

function literal(node: Expression | undefined): string | undefined {
  if (node?.type === 'Literal' && typeof node.value === 'string') return node.value;
  if (node?.type === 'TemplateLiteral' && node.expressions.length === 0)
    return node.quasis[0]?.value.cooked ?? undefined;
  return undefined;
}

function canonical(specifier: string): string {
  return !specifier.startsWith('node:') && builtinModules.includes(specifier) ? `node:${specifier}` : specifier;
}
