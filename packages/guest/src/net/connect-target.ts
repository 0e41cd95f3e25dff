import { httpOnly, refusedHere } from './egress-error.ts';
import type { Origin } from './request-head.ts';

const { domainToASCII } = process.getBuiltinModule('node:url');

/** What is read of the options of `net.connect` and `tls.connect`. Whatever else they say is about connections that are not made. */
export interface ConnectOptions {
  host?: unknown;
  port?: unknown;
  path?: unknown;
  onread?: unknown;
}

/**
 * Ports at which the server speaks first, so that nothing would ever show that it is no HTTP: FTP, SSH, Telnet, SMTP, POP3, IMAP,
 * MySQL. All but the last are closed to browsers as well.
 */
const serverFirst: ReadonlySet<number> = new Set([21, 22, 23, 25, 110, 143, 465, 587, 993, 995, 3306, 33_060]);
const plainHost = /^[a-zA-Z0-9]([a-zA-Z0-9._-]{0,252}[a-zA-Z0-9.])?$/;
const foreignHost = /^[a-zA-Z0-9._\-\u0080-\uffff]{1,253}$/;
const ipv6Host = /^[0-9a-fA-F:]{2,39}(\.[0-9.]{5,15})?$/;

/**
 * Where a connection leads, by what it is opened with and nothing else.
 *
 * @throws NodeError `CELL_HTTP_ONLY`, `EGRESS_DENIED`.
 */
export function targetOf(scheme: Origin['scheme'], options: ConnectOptions): Origin {
  const { path, onread } = options;
  if (path !== undefined && path !== null && path !== '') throw httpOnly('A socket path was to be connected to');
  if (onread !== undefined) throw httpOnly('A connection was to be read by the option onread');
  const unsafeHost =
    options.host === undefined || options.host === null || options.host === '' ? 'localhost' : options.host;
  const port = Number(options.port);
  const isPort = (typeof options.port === 'number' || typeof options.port === 'string') && options.port !== '';
  if (!isPort || !Number.isInteger(port) || port < 0 || port > 65_535)
    throw new RangeError(`Port should be from 0 to 65535, got ${String(options.port).slice(0, 50)}`);
  const host = hostOf(unsafeHost);
  if (serverFirst.has(port)) throw httpOnly(`${host}:${port} was connected to`);
  return { scheme, host, port };
}

/** As it may stand in a URL: a text that is more than a name would change what the URL means. */
function hostOf(unsafeHost: unknown): string {
  if (typeof unsafeHost === 'string') {
    if (plainHost.test(unsafeHost)) return unsafeHost;
    const address = unsafeHost.replace(/^\[(.*)\]$/, '$1');
    if (ipv6Host.test(address) && address.includes(':')) return `[${address}]`;
    // Only of letters: domainToASCII reads a URL's host, and would take `a.test/x` or `a.test:1` for a.test.
    const ascii = foreignHost.test(unsafeHost) ? domainToASCII(unsafeHost) : '';
    if (plainHost.test(ascii)) return ascii;
  }
  throw refusedHere('URL_REFUSED', `The host ${JSON.stringify(String(unsafeHost).slice(0, 100))} is no name`);
}
