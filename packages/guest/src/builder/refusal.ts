import type { UnpackFinding } from '@glovebox/contract';

/** Why an archive, a package or a file of the author is not taken. Thrown while reading, reported as a finding. */
export class Refusal extends Error {
  readonly rule: UnpackFinding['rule'];
  readonly entry: string | undefined;

  constructor(rule: UnpackFinding['rule'], reason: string, entry?: string) {
    super(reason);
    this.name = 'Refusal';
    this.rule = rule;
    this.entry = entry;
  }
}

export const archiveRefusal = (reason: string, entry?: string): Refusal =>
  new Refusal('ARCHIVE_REFUSED', reason, entry);
