/** Samples of one thing. A failure counts as a sample that took for ever, so it shows in the percentiles. */
export class Samples {
  readonly #values: number[] = [];
  failures = 0;
  lastFailure: string | undefined;

  async take(measure: () => Promise<number>): Promise<void> {
    try {
      this.#values.push(await measure());
    } catch (error) {
      this.failures++;
      this.lastFailure = error instanceof Error ? error.message.slice(0, 300) : String(error);
      this.#values.push(Number.POSITIVE_INFINITY);
    }
  }

  get n(): number {
    return this.#values.length;
  }

  /** Null when there are none, or when that percentile is a failure. */
  percentile(q: number): number | null {
    const sorted = this.#values.toSorted((a, b) => a - b);
    const value = sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))];
    return value === undefined || !Number.isFinite(value) ? null : Math.round(value * 1000) / 1000;
  }

  get note(): { note?: string } {
    const p95 = this.percentile(0.95);
    const parts = [
      ...(p95 === null ? [] : [`p95 ${p95.toFixed(1)}`]),
      ...(this.failures === 0 ? [] : [`${this.failures} failed: ${this.lastFailure}`]),
    ];
    return parts.length === 0 ? {} : { note: parts.join('; ') };
  }
}
