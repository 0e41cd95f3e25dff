import type { Cassette } from '@glovebox/sdk/cassette';
import type { Egress } from '../api.ts';
import { createEgress } from '../session.ts';
import { type CassetteDialer, createCassetteDialer } from './cassette-dialer.ts';

/** An egress that a cassette answers; `player` tells what of it was used, over all sessions. */
export function createCassetteEgress(cassette: Cassette): { egress: Egress; player: CassetteDialer['player'] } {
  const dialer = createCassetteDialer(cassette);
  return { egress: { ...createEgress(dialer), source: 'cassette' }, player: dialer.player };
}
