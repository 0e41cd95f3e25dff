import { type Manifest, parseSize } from '@glovebox/contract';
import type { HttpGrant } from '@glovebox/egress';

/** What a manifest lets its node ask for; undefined where it declares no http. */
export function httpGrant({ capabilities }: Pick<Manifest, 'capabilities'>): HttpGrant | undefined {
  if (capabilities.http === undefined) return undefined;
  const { rules, maxRequests, maxResponseBytes, maxRedirects } = capabilities.http;
  const bytes = parseSize(maxResponseBytes);
  if (bytes === undefined) throw new RangeError(`${maxResponseBytes} is not a size`);
  return { rules, maxRequests, maxResponseBytes: bytes, maxRedirects };
}
