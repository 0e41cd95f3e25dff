/**
 * Values by host pattern: a name, or `*.` and a name for its sub-domains, to any depth and without the name itself. Hosts are
 * compared label by label in A-label form, so that `evilexample.com` is none of `*.example.com`.
 */
export class HostIndex<T> {
  readonly #exact = new Map<string, T[]>();
  readonly #parents = new Map<string, T[]>();

  add(pattern: string, value: T): void {
    const [map, name] = pattern.startsWith('*.') ? [this.#parents, pattern.slice(2)] : [this.#exact, pattern];
    const values = map.get(name);
    if (values === undefined) map.set(name, [value]);
    else values.push(value);
  }

  /** @param literal whether the host is an address: it has no sub-domains, so no wildcard is meant for it. */
  find(host: string, kind: 'name' | 'address'): T[] {
    const found = [...(this.#exact.get(host) ?? [])];
    if (kind === 'address') return found;
    for (let dot = host.indexOf('.'); dot !== -1; dot = host.indexOf('.', dot + 1)) {
      const values = this.#parents.get(host.slice(dot + 1));
      if (values !== undefined) found.push(...values);
    }
    return found;
  }
}
