/** Of anything that the node may have thrown or passed: undefined where there is none, or where reading it throws. */
export function property(value: unknown, key: string | symbol): unknown {
  try {
    return (value as Record<string | symbol, unknown>)[key];
  } catch {
    return undefined;
  }
}
