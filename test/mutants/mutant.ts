/**
 * A guard, changed in one line so that it no longer guards, and the test that must notice. What is weaker than what it
 * claims to be is found where a mutant survives.
 */
export interface Mutant {
  /** From the root of the repository. */
  file: string;
  /** A part of the file's text that is there exactly once. */
  find: string;
  replace: string;
  test: {
    file: string;
    /** The whole name of one test: those of its groups and its own, with a blank between. */
    name: string;
  };
  /** What could be done to us without the guard. */
  why: string;
}
