export {
  type Cassette,
  type CassetteBody,
  type CassetteEntry,
  cassetteLimits,
  notRecorded,
  type ReadCassette,
  readCassette,
} from './cassette-format.ts';
export { type Asked, BodyDigester, bodyOf, canonicalUrl, keptBody } from './cassette-match.ts';
export { CassettePlayer, type Miss, missText } from './cassette-player.ts';
