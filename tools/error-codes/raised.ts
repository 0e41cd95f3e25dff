import { parseSync } from 'oxc-parser';

/** Calls that only ask about a code. */
const asking = ['includes', 'has', 'is', 'get', 'indexOf', 'startsWith', 'endsWith', 'delete'];
/** Errors whose first argument is their code. */
const errorClasses = ['GloveboxError', 'SetupError'];
/** What holds one in an error or finding, and in what is handed to such. */
const codeNames = ['code', 'rule', 'errorCode'];
const tableNames = ['codes'];
/** Types of values that are codes of the catalogue. */
const codeTypes = /\bErrorCode\b/;

interface Node {
  type: string;
  start: number;
  end: number;
  [part: string]: unknown;
}

/** How the value of an expression is given away: as a code itself, or as something whose every part is one. */
type Given = 'no' | 'itself' | 'in-parts';

/**
 * The codes that a source file gives away: as the code of an error or finding, as an argument of a call that may make one of
 * it, or as a value whose type says that it is one. A code that is compared, asked about, listed in a set or part of a type
 * is not: nothing ends with it.
 *
 * @returns more than codes: any text in these places. The caller knows the catalogue.
 */
export function raisedCodes(file: string, text: string): Set<string> {
  const raised = new Set<string>();
  const byType = (node: unknown): Given =>
    isNode(node) && codeTypes.test(text.slice(node.start, node.end)) ? 'in-parts' : 'no';

  /** @param returned how a value is given away that the function around it returns. */
  const visit = (node: unknown, given: Given, returned: Given): void => {
    if (Array.isArray(node)) for (const each of node) visit(each, given, returned);
    if (!isNode(node) || isType(node)) return;
    if (node.type === 'Literal' && given !== 'no') raised.add(String(node.value));
    const returns = 'returnType' in node ? byType(node.returnType) : returned;
    const parts = givenParts(node, given, byType, returns);
    for (const [part, value] of Object.entries(node)) visit(value, parts[part] ?? 'no', returns);
  };
  visit(parseSync(file, text, { preserveParens: false }).program, 'no', 'no');
  return raised;
}

/** How the parts of a node are given away; those that are not named are not. */
function givenParts(
  node: Node,
  given: Given,
  byType: (node: unknown) => Given,
  returned: Given,
): { [part: string]: Given } {
  const inParts = given === 'in-parts' ? given : 'no';
  switch (node.type) {
    case 'NewExpression':
      return { arguments: errorClasses.includes(nameOf(node.callee)) ? 'itself' : 'no' };
    case 'CallExpression':
      return { arguments: asking.includes(nameOf(node.callee)) ? 'no' : 'itself' };
    case 'Property':
      if (tableNames.includes(nameOf(node.key))) return { value: 'in-parts' };
      return { value: codeNames.includes(nameOf(node.key)) ? 'itself' : inParts };
    case 'VariableDeclarator':
      return { init: byType((node.id as Node).typeAnnotation) };
    case 'PropertyDefinition':
      return { value: byType(node.typeAnnotation) };
    case 'AssignmentPattern':
      return { right: codeNames.includes(nameOf(node.left)) ? 'itself' : byType((node.left as Node).typeAnnotation) };
    case 'ConditionalExpression':
      return { consequent: given, alternate: given };
    case 'LogicalExpression':
      return { left: given, right: given };
    case 'ArrayExpression':
      return { elements: inParts };
    case 'ObjectExpression':
      return { properties: inParts };
    case 'TSAsExpression':
    case 'TSSatisfiesExpression':
      return { expression: given === 'no' ? byType(node.typeAnnotation) : given };
    case 'ArrowFunctionExpression':
      return { body: node.expression === true ? returned : 'no' };
    case 'ReturnStatement':
      return { argument: returned };
    default:
      return {};
  }
}

const expressionsOfTypeScript = ['TSAsExpression', 'TSSatisfiesExpression', 'TSNonNullExpression'];
const isType = ({ type }: Node): boolean => type.startsWith('TS') && !expressionsOfTypeScript.includes(type);

/** The last name of a callee, a key or a parameter; empty where it has none. */
function nameOf(node: unknown): string {
  if (!isNode(node)) return '';
  if (node.type === 'MemberExpression') return nameOf(node.property);
  const name = node.type === 'Literal' ? node.value : node.name;
  return typeof name === 'string' ? name : '';
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && typeof (value as Partial<Node>).type === 'string';
}
