const maxLength = 40;

/** The known name that the author most likely meant; undefined when none is near. */
export function nearest(name: string, known: readonly string[]): string | undefined {
  if (name.length > maxLength) return undefined;
  let best: string | undefined;
  let bestDistance = Math.max(1, Math.floor(name.length / 3)) + 1;
  for (const candidate of known) {
    if (Math.abs(candidate.length - name.length) >= bestDistance) continue;
    const distance = slips(name.toLowerCase(), candidate.toLowerCase());
    if (distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

/**
 * The known name that can only be meant: one slip away (two in a long name), or another case of it, and no other known
 * name is as near. Undefined where a reader would have to think.
 */
export function unmistakable(name: string, known: readonly string[]): string | undefined {
  if (name.length < 3 || name.length > maxLength) return undefined;
  const distances = known
    .filter((candidate) => Math.abs(candidate.length - name.length) <= 2)
    .map((candidate) => ({ candidate, distance: slips(name.toLowerCase(), candidate.toLowerCase()) }))
    .sort((a, b) => a.distance - b.distance);
  const [best, next] = distances;
  if (best === undefined || best.distance > (name.length >= 8 ? 2 : 1)) return undefined;
  return next?.distance === best.distance ? undefined : best.candidate;
}

/** Insertions, deletions, replacements and swaps of neighbours that turn one into the other. */
export function slips(a: string, b: string): number {
  let before: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1];
      let cost = Math.min((last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, (last[j - 1] ?? 0) + (same ? 0 : 1));
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        cost = Math.min(cost, (before[j - 2] ?? 0) + 1);
      row.push(cost);
    }
    before = last;
    last = row;
  }
  return last[b.length] ?? 0;
}
