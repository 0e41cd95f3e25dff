import { egressRequestHeaders } from '@glovebox/contract';

/** What a node's context asks of the broker beside the request itself. */
export type Asks =
  | { readonly kind: 'asks'; readonly retries: number; readonly websocket: boolean }
  | {
      readonly kind: 'refused';
      readonly reason: 'HEADER_REFUSED' | 'CREDENTIAL_NOT_AVAILABLE';
      readonly message: string;
      readonly hint: string;
    };

/** Read the headers by which a cell asks. What is asked for in no way of ours is refused, never left out in silence. */
export function readAsks(headers: Readonly<Record<string, string>>, method: string): Asks {
  const { retry, credential, upgrade } = egressRequestHeaders;
  if (headers[credential] !== undefined) {
    return {
      kind: 'refused',
      reason: 'CREDENTIAL_NOT_AVAILABLE',
      message: 'No credential can be put into a request yet.',
      hint: 'Ask without a credential.',
    };
  }
  const retries = headers[retry] ?? '0';
  if (!/^[0-5]$/.test(retries)) return headerRefused(`${retry} must be 0 to 5.`);
  const upgradeTo = headers[upgrade];
  if (upgradeTo !== undefined && upgradeTo !== 'websocket') return headerRefused(`${upgrade} must be websocket.`);
  if (upgradeTo !== undefined && method !== 'GET') return headerRefused(`${upgrade} goes with GET alone.`);
  return { kind: 'asks', retries: safeToRepeat.has(method) ? Number(retries) : 0, websocket: upgradeTo !== undefined };
}

/** RFC 9110, section 9.2.1, without TRACE, which no rule can allow. */
const safeToRepeat: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

const headerRefused = (message: string): Asks => ({
  kind: 'refused',
  reason: 'HEADER_REFUSED',
  message,
  hint: 'Leave the header out, or send one of the values that it can have.',
});
