/** Lets a few do something at a time, and the others in the order in which they came. */
export interface Turns {
  /** Resolves when it may begin. @returns to be called once, when it is over. */
  begin(): Promise<() => void>;
}

export function createTurns(atOnce: number): Turns {
  const waiting: (() => void)[] = [];
  let free = atOnce;
  const end = (): void => {
    const next = waiting.shift();
    if (next === undefined) free++;
    else next();
  };
  return {
    async begin() {
      if (free > 0) free--;
      else await new Promise<void>((resolve) => waiting.push(resolve));
      return end;
    },
  };
}
