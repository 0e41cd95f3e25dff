/** What was verified: the result as JSON, and in words. */
export interface Verified {
  json: {
    verified: true;
    kind: 'receipt' | 'artifact' | 'audit';
    /** The pinned key that vouches for it. */
    keyId: string;
    /** Whether it was held against the record of this instance too. */
    comparedWithRecord: boolean;
    [name: string]: unknown;
  };
  /** A line each, without the first, which says by which key. */
  words: string[];
}
