/** What the harness and the testing kit share, so that a node finds the same in both. Not for authors. */
export {
  checkFetch,
  checkLog,
  checkSleep,
  defaultMediaType,
  type FileSource,
  fileRefusal,
  fileSource,
  isChunk,
  type LogLevel,
  readProgress,
  wrongChunk,
} from './arguments.ts';
export { freezeJson } from './freeze-json.ts';
export { encodeJson, type JsonProblem, maxJsonDepth } from './json-output.ts';
export { encodeForLog, textOf } from './log-fields.ts';
export { errorCodePattern, maxRetryAfterMs, nodeErrorMark } from './node-error.ts';
