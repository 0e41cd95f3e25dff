import type { Manifest } from '@glovebox/contract';
import { openJudge, type ValueJudge } from '@glovebox/validate';

/** One judge for all who ask about the schemas of one manifest; none before somebody does. */
export class SharedJudge {
  #judge: ValueJudge | undefined;

  of({ input, config, output }: Manifest): ValueJudge {
    this.#judge ??= openJudge({ input, config, output });
    return this.#judge;
  }

  close(): void {
    this.#judge?.close();
  }
}
