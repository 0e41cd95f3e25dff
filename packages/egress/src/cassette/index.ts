export { type Cassette, type Miss, missText, readCassette } from '@glovebox/sdk/cassette';
export { createCassetteEgress } from './cassette-egress.ts';
export { recordEgress } from './record-egress.ts';
export { Recording } from './recording.ts';
