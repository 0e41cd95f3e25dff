export const schemaLimits = {
  /** Of one schema as JSON text; the same as in the manifest. */
  bytes: 64 * 1024,
  /** Levels of arrays and objects in one schema; the same as in the manifest. */
  depth: 16,
  problems: 50,
  patternLength: 1024,
  /** Sum of RE2 instructions over all patterns of one schema. */
  patternProgram: 20_000,
  /** Of a value to be judged. */
  valueBytes: 16 * 1024 * 1024,
  valueDepth: 128,
  /**
   * Steps of one evaluation, and how many more for each byte of the value's text: a schema met by a value, a member, its
   * name, an element, a node of a comparison, a few characters. A value under an ordinary schema takes about one for two bytes.
   */
  steps: 5_000_000,
  stepsPerByte: 2,
  /** Schemas applied one inside the other. Keeps the stack far from its end. */
  nesting: 1500,
  misfits: 20,
  /** Characters of a path and of a message that tell of any of this. What is beyond is left out. */
  pathLength: 2048,
  messageLength: 2000,
} as const;
