import { type KeyObject, verify } from 'node:crypto';
import { type Service, sendJson } from './listen.ts';

/** Of Google: access tokens for a refresh token, or for what the service account whose key this is has signed; and who accepts them. */
export function googleTokens(publicKey: KeyObject): Service {
  return ({ path, body }, response) => {
    if (path !== '/token') return sendJson(response, { error: 'not_found' }, 404);
    const sent = new URLSearchParams(body.toString());
    const token = { token_type: 'Bearer', expires_in: 3600 };
    if (sent.get('grant_type') === 'refresh_token' && sent.get('refresh_token') === 'refresh-from-the-test')
      return sendJson(response, { ...token, access_token: 'by-refresh' });
    if (sent.get('grant_type')?.endsWith(':jwt-bearer') && isSignedBy(publicKey, sent.get('assertion') ?? ''))
      return sendJson(response, { ...token, access_token: 'by-assertion' });
    return sendJson(response, { error: 'invalid_grant', error_description: 'Bad Request' }, 400);
  };
}

function isSignedBy(publicKey: KeyObject, assertion: string): boolean {
  const [header, claims, signature = ''] = assertion.split('.');
  return verify('RSA-SHA256', Buffer.from(`${header}.${claims}`), publicKey, Buffer.from(signature, 'base64url'));
}

export const googleStorage: Service = ({ path, headers, query }, response) => {
  const [, token] = /^Bearer (by-\w+)$/.exec(String(headers.authorization)) ?? [];
  if (token === undefined) return sendJson(response, { error: { code: 401, message: 'Invalid Credentials' } }, 401);
  if (path === '/storage/v1/b') return sendJson(response, { items: [{ id: `${query.get('project')}-1` }], token });
  return sendJson(response, { error: { code: 404, message: 'Not Found' } }, 404);
};
