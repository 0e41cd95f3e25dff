import {
  oneSegment,
  type PathPattern,
  type PathReadings,
  type PatternReading,
  type Segments,
  type Token,
  type Way,
} from './path-match.ts';

/**
 * A place in a tree of patterns. Segments that patterns have alone, or in common, are one run: a manifest may have
 * a hundred thousand of them, and must not cost its host as many objects. The rules are in ascending order.
 */
interface Branch {
  /** On the way here from the branch above, which finds this one by the first of them. */
  readonly run: readonly Token[];
  next: Map<Token, Branch> | undefined;
  /** Rules with a pattern that ends here. */
  readonly ending: number[];
  /** Rules with a pattern after which anything may follow. */
  readonly open: number[];
}

/** Patterns of many rules, looked up run by run: what a look-up costs does not grow with the number of rules. */
export class PathTable {
  readonly #patterns: { readonly pattern: PathPattern; readonly rule: number }[] = [];
  /** By way of reading, each made when a path is first read in it: most tables are never asked, and most paths read in one way. */
  readonly #trees = new Map<Way, Branch>();

  /** @param rule no less than that of the call before. */
  add(pattern: PathPattern, rule: number): void {
    this.#patterns.push({ pattern, rule });
    this.#trees.clear();
  }

  /**
   * The first rule of which every reading of a path matches a pattern. So a server that takes `%2F` for a separator finds no
   * more than what the rule says when it is read in that same way.
   */
  firstRule(readings: PathReadings): number | undefined {
    const [only, ...others] = readings.map(({ way, segments }) => matching(this.#tree(way), segments));
    if (only === undefined) return undefined;
    if (others.length === 0) return smallest(only.map(([first]) => first));
    const sets = others.map((lists) => new Set(lists.flat()));
    return smallest(only.flat().filter((rule) => sets.every((set) => set.has(rule))));
  }

  #tree(way: Way): Branch {
    let tree = this.#trees.get(way);
    if (tree === undefined) {
      tree = branch([]);
      for (const { pattern, rule } of this.#patterns) plant(tree, pattern.in(way), rule);
      this.#trees.set(way, tree);
    }
    return tree;
  }
}

const branch = (run: readonly Token[]): Branch => ({ run, next: undefined, ending: [], open: [] });

function plant(tree: Branch, { tokens, open }: PatternReading, rule: number): void {
  let at = tree;
  for (let from = 0; from < tokens.length; from += at.run.length) at = stepTowards(at, tokens, from);
  const rules = open ? at.open : at.ending;
  if (rules.at(-1) !== rule) rules.push(rule);
}

/** The branch below with as many of the tokens as it has in common with them; made, or cut off another one, where there is none. */
function stepTowards(at: Branch, tokens: readonly Token[], from: number): Branch {
  const first = tokens[from] as Token;
  at.next ??= new Map();
  const known = at.next.get(first);
  let common = 0;
  if (known !== undefined) while (common < known.run.length && known.run[common] === tokens[from + common]) common++;
  if (known !== undefined && common === known.run.length) return known;
  const step = branch(tokens.slice(from, known === undefined ? undefined : from + common));
  if (known !== undefined) {
    const rest = known.run.slice(common);
    step.next = new Map([[rest[0] as Token, { ...known, run: rest }]]);
  }
  at.next.set(first, step);
  return step;
}

/** The lists of rules, none of them empty, whose patterns match the segments. */
function matching(tree: Branch, segments: Segments): (readonly number[])[] {
  const lists: (readonly number[])[] = [];
  const collect = (at: Branch, from: number): void => {
    if (at.open.length > 0) lists.push(at.open);
    const segment = segments[from];
    if (segment === undefined) {
      if (at.ending.length > 0) lists.push(at.ending);
      return;
    }
    for (const token of [segment, oneSegment] as const) {
      const below = at.next?.get(token);
      if (below !== undefined && isOnTheWay(below.run, segments, from)) collect(below, from + below.run.length);
    }
  };
  collect(tree, 0);
  return lists;
}

/** An empty segment stands for no name: servers merge it away. */
function isOnTheWay(run: readonly Token[], segments: Segments, from: number): boolean {
  for (let at = 0; at < run.length; at++) {
    const segment = segments[from + at];
    if (run[at] === oneSegment ? segment === undefined || segment === '' : run[at] !== segment) return false;
  }
  return true;
}

function smallest(rules: readonly (number | undefined)[]): number | undefined {
  let first: number | undefined;
  for (const rule of rules) if (rule !== undefined && (first === undefined || rule < first)) first = rule;
  return first;
}
