import {
  oneSegment,
  type PathReadings,
  type PatternReading,
  readPattern,
  type Segments,
  type Token,
  type Way,
} from './path-match.ts';

/** A place in a tree of patterns. The rules are in ascending order. */
interface Branch {
  readonly next: Map<Token, Branch>;
  /** Rules with a pattern that ends here. */
  readonly ending: number[];
  /** Rules with a pattern after which anything may follow. */
  readonly open: number[];
}

/** Patterns of many rules, looked up segment by segment: what a look-up costs does not grow with the number of rules. */
export class PathTable {
  readonly #patterns: { readonly pattern: string; readonly rule: number }[] = [];
  /** By way of reading, each made when a path is first read in it: most tables are never asked, and most paths read in one way. */
  readonly #trees = new Map<Way, Branch>();

  /** @param rule no less than that of the call before. */
  add(pattern: string, rule: number): void {
    this.#patterns.push({ pattern, rule });
    this.#trees.clear();
  }

  /**
   * The first rule of which every reading of a path matches a pattern. So a server that takes `%2F` for a separator finds no
   * more than what the rule says when it is read in that same way.
   */
  firstRule(readings: PathReadings): number | undefined {
    const [only, ...others] = readings.map(({ way, segments }) => matching(this.#tree(way), segments, 0));
    if (only === undefined) return undefined;
    if (others.length === 0) return smallest(only.map(([first]) => first));
    const sets = others.map((lists) => new Set(lists.flat()));
    return smallest(only.flat().filter((rule) => sets.every((set) => set.has(rule))));
  }

  #tree(way: Way): Branch {
    let tree = this.#trees.get(way);
    if (tree === undefined) {
      tree = branch();
      for (const { pattern, rule } of this.#patterns) plant(tree, readPattern(pattern, way), rule);
      this.#trees.set(way, tree);
    }
    return tree;
  }
}

const branch = (): Branch => ({ next: new Map(), ending: [], open: [] });

function plant(tree: Branch, { tokens, open }: PatternReading, rule: number): void {
  let at = tree;
  for (const token of tokens) {
    let next = at.next.get(token);
    if (next === undefined) {
      next = branch();
      at.next.set(token, next);
    }
    at = next;
  }
  const rules = open ? at.open : at.ending;
  if (rules.at(-1) !== rule) rules.push(rule);
}

/** The lists of rules, none of them empty, whose patterns match the segments from an index on. */
function matching(at: Branch, segments: Segments, from: number): (readonly number[])[] {
  const lists = at.open.length > 0 ? [at.open] : [];
  const segment = segments[from];
  if (segment === undefined) return at.ending.length > 0 ? [...lists, at.ending] : lists;
  const literal = at.next.get(segment);
  const wildcard = segment === '' ? undefined : at.next.get(oneSegment);
  return [
    ...lists,
    ...(literal === undefined ? [] : matching(literal, segments, from + 1)),
    ...(wildcard === undefined ? [] : matching(wildcard, segments, from + 1)),
  ];
}

function smallest(rules: readonly (number | undefined)[]): number | undefined {
  let first: number | undefined;
  for (const rule of rules) if (rule !== undefined && (first === undefined || rule < first)) first = rule;
  return first;
}
