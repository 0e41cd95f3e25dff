export {
  type Cassette,
  type CassetteBody,
  type CassetteEntry,
  type CassetteHeaders,
  cassetteLimits,
  headerValue,
  type ReadCassette,
  readCassette,
  refusedOfAnswers,
} from './cassette-format.ts';
export {
  answerFields,
  BodyDigester,
  bodyOf,
  canonicalUrl,
  keptBody,
  keptLocation,
  notRecorded,
} from './cassette-match.ts';
export { CassettePlayer, type Miss, missText } from './cassette-player.ts';
