import { type CellPlan, formatSize, GloveboxError } from '@glovebox/contract';

/** What one cell has of the whole, from before its boot until it is confirmed dead. */
export interface Share {
  release(): void;
  /** The cell could not be confirmed dead, so it may still run, and keeps what it has until `forgetKept`. */
  keep(): void;
}

export interface Quota {
  /** @throws GloveboxError `CELLD_FULL`. */
  take(limits: Pick<CellPlan['limits'], 'memoryBytes'>): Share;
  /** To be called when there is no cell on the host at all. */
  forgetKept(): void;
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
    forgetKept() {
      for (const share of held) if (share.state === 'kept') held.delete(share);
    },
  };
}

interface Held {
  memoryBytes: number;
  state: 'live' | 'kept';
}
