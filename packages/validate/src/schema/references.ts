import { fromPointer, toPointer } from '../json/pointer.ts';
import { quoted } from '../text.ts';
import type { Refuse } from './compile.ts';
import { inPlace, type SchemaNode } from './node.ts';

/**
 * Point every `$ref` at the schema that it names. Only schemas of the same document can be named, by JSON Pointer: nothing
 * is ever fetched. Chains of schemas that lead back to where they began without going down into the value would never
 * end, and are refused.
 */
export function linkReferences(
  root: SchemaNode,
  nodes: ReadonlyMap<string, SchemaNode>,
  references: readonly { node: SchemaNode; target: string; path: string }[],
  refuse: Refuse,
): void {
  for (const { node, target, path } of references) {
    if (!target.startsWith('#')) {
      refuse(path, `${quoted(target)} is not in this schema`, 'Refer to "#/$defs/…" only.');
      continue;
    }
    const pointer = decodeFragment(target.slice(1));
    const segments = pointer === undefined ? undefined : fromPointer(pointer);
    const found = segments === undefined ? undefined : nodes.get(toPointer(segments));
    if (found === undefined)
      refuse(path, `${quoted(target)} names no schema of this document`, 'Refer to "#/$defs/…" only.');
    else node.ref = found;
  }
  for (const node of findCycles([root, ...nodes.values()])) {
    refuse(node.path, 'the schema refers back to itself for the same value', 'Recurse through properties or items.');
  }
}

function decodeFragment(fragment: string): string | undefined {
  try {
    return decodeURIComponent(fragment);
  } catch {
    return undefined;
  }
}

/** A schema of each cycle of in-place edges. Depth first with a stack of its own. */
function findCycles(nodes: readonly SchemaNode[]): SchemaNode[] {
  const state = new Map<SchemaNode, 'open' | 'done'>();
  const cycles: SchemaNode[] = [];
  for (const start of nodes) {
    if (state.has(start)) continue;
    state.set(start, 'open');
    const stack = [{ node: start, below: inPlace(start) }];
    for (let top = stack.at(-1); top !== undefined; top = stack.at(-1)) {
      const next = top.below.pop();
      if (next === undefined) {
        state.set(top.node, 'done');
        stack.pop();
      } else if (state.get(next) === 'open') cycles.push(next);
      else if (!state.has(next)) {
        state.set(next, 'open');
        stack.push({ node: next, below: inPlace(next) });
      }
    }
  }
  return cycles;
}
