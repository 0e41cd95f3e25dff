import type { ChannelLimits } from './api.ts';
import { ceil, isInteger } from './primordials.ts';

/** What docs/channel.md calls the default limits. */
export const defaultChannelLimits: Readonly<ChannelLimits> = {
  maxStreams: 64,
  maxFrameBytes: 64 * 1024,
  maxOpensPerSecond: 2000,
  maxHeadBytes: 32 * 1024,
  streamWindowBytes: 256 * 1024,
  connectionWindowBytes: 1024 * 1024,
};

/** What a limit may be, on either side: a peer that announces another value is no valid peer. */
export const limitRanges: { readonly [K in keyof ChannelLimits]: readonly [least: number, most: number] } = {
  maxStreams: [1, 1024],
  maxFrameBytes: [1024, 64 * 1024],
  maxOpensPerSecond: [1, 100_000],
  maxHeadBytes: [512, 64 * 1024],
  // A smaller window would let a peer make the sender cut its data into crumbs.
  streamWindowBytes: [16 * 1024, 64 * 1024 * 1024],
  connectionWindowBytes: [16 * 1024, 256 * 1024 * 1024],
};

export const limitNames = [
  'maxStreams',
  'maxFrameBytes',
  'maxOpensPerSecond',
  'maxHeadBytes',
  'streamWindowBytes',
  'connectionWindowBytes',
] as const satisfies readonly (keyof ChannelLimits)[];

export function limitInRange(name: keyof ChannelLimits, value: number): boolean {
  const range = limitRanges[name];
  return isInteger(value) && value >= range[0] && value <= range[1];
}

/** @throws RangeError naming the limit that is outside its range. */
export function resolveLimits(limits: Partial<ChannelLimits> | undefined): ChannelLimits {
  const resolved = { ...defaultChannelLimits };
  for (const name of limitNames) {
    const value = limits?.[name];
    if (value === undefined) continue;
    if (!limitInRange(name, value)) {
      throw new RangeError(`${name} must be a whole number from ${limitRanges[name][0]} to ${limitRanges[name][1]}`);
    }
    resolved[name] = value;
  }
  if (resolved.maxHeadBytes > resolved.maxFrameBytes)
    throw new RangeError('maxHeadBytes must not be above maxFrameBytes');
  return resolved;
}

/**
 * The least that a CREDIT may give. It makes the number of CREDIT frames follow from the bytes sent, so that nobody can
 * flood with them; a quarter of the window keeps the sender going meanwhile.
 */
export function creditQuantum(windowBytes: number): number {
  return ceil(windowBytes / 4);
}
