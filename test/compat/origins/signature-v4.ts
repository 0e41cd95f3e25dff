import { createHash, createHmac } from 'node:crypto';
import type { Arrived } from './listen.ts';

const sha256 = (data: string | Buffer): string => createHash('sha256').update(data).digest('hex');
const hmac = (key: string | Buffer, data: string): Buffer => createHmac('sha256', key).update(data).digest();
const form = /^AWS4-HMAC-SHA256 Credential=[^/]+\/([^,]+), SignedHeaders=([^,]+), Signature=([0-9a-f]{64})$/;

/**
 * Whether a request is, to the byte, the one that its sender signed: method, path, query, host, signed headers and, where the
 * signature covers it, the body. AWS Signature Version 4, as S3 reads it.
 */
export function isSigned(request: Arrived, secret: string): boolean {
  const [, scope = '', signedHeaders = '', signature] = form.exec(String(request.headers.authorization)) ?? [];
  if (signature === undefined) return false;
  const header = (name: string): string =>
    name === 'host'
      ? request.host
      : String(request.headers[name] ?? '')
          .trim()
          .replace(/ +/g, ' ');
  const bodyHash = header('x-amz-content-sha256');
  if (/^[0-9a-f]{64}$/.test(bodyHash) && bodyHash !== sha256(request.body)) return false;
  const query = request.target.split('?')[1] ?? '';
  const canonical = [
    request.method,
    request.target.split('?')[0],
    query
      .split('&')
      .filter(Boolean)
      .map((pair) => (pair.includes('=') ? pair : `${pair}=`))
      .sort()
      .join('&'),
    ...signedHeaders.split(';').map((name) => `${name}:${header(name)}`),
    '',
    signedHeaders,
    bodyHash,
  ].join('\n');
  const toSign = ['AWS4-HMAC-SHA256', header('x-amz-date'), scope, sha256(canonical)].join('\n');
  const key = scope.split('/').reduce<string | Buffer>((last, part) => hmac(last, part), `AWS4${secret}`);
  return hmac(key, toSign).toString('hex') === signature;
}
