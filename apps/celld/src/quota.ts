import { type CellPlan, formatSize, GloveboxError } from '@glovebox/contract';

/** What one cell has of the whole, from before its boot until it is confirmed dead. */
export interface Share {
  release(): void;
  /** The cell could not be confirmed dead, so it may still run, and keeps what it has until that is forgotten. */
  keep(): void;
}

export interface Quota {
  /** @throws GloveboxError `CELLD_FULL`. */
  take(limits: Pick<CellPlan['limits'], 'memoryBytes'>): Share;
  /** @returns forgets what is kept until now: to be called where there is, from now on, no cell on the host at all. */
  keptUntilNow(): () => void;
}

/** Ceilings of celld's own over all cells, whoever asks for them. */
export function createQuota(most: { cells: number; memoryBytes: number }): Quota {
  const held = new Set<Held>();
  return {
    take({ memoryBytes }) {
      if (held.size >= most.cells) {
        throw new GloveboxError('CELLD_FULL', { message: `celld has ${most.cells} cells, as many as it may.` });
      }
      const left = [...held].reduce((rest, share) => rest - share.memoryBytes, most.memoryBytes);
      if (memoryBytes > left) {
        throw new GloveboxError('CELLD_FULL', { message: `celld has ${formatSize(left)} of memory left for cells.` });
      }
      const share: Held = { memoryBytes, state: 'live' };
      held.add(share);
      return {
        release: () => void held.delete(share),
        keep: () => {
          share.state = 'kept';
        },
      };
    },
    keptUntilNow() {
      const kept = [...held].filter(({ state }) => state === 'kept');
      return () => {
        for (const share of kept) held.delete(share);
      };
    },
  };
}

interface Held {
  memoryBytes: number;
  state: 'live' | 'kept';
}
