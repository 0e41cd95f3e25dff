import { deflateSync } from 'node:zlib';

/** The forms in which a secret could come out and still be one, by name. Latin-1 text, for a search in bytes. */
export function encodingsOf(secret: string): { name: string; text: string }[] {
  const bytes = Buffer.from(secret);
  const utf16 = Buffer.from(secret, 'utf16le');
  const forms: [string, string][] = [
    ['plain', secret],
    ['upper case', secret.toUpperCase()],
    ['reversed', [...secret].reverse().join('')],
    ['hex', bytes.toString('hex')],
    ['hex, upper case', bytes.toString('hex').toUpperCase()],
    ['base64url', bytes.toString('base64url')],
    ['utf-16', utf16.toString('latin1')],
    ['percent', [...bytes].map((byte) => `%${byte.toString(16)}`).join('')],
    ['JSON escapes', [...bytes].map((byte) => `\\u${byte.toString(16).padStart(4, '0')}`).join('')],
    ['decimal list', [...bytes].join(',')],
    ['HTML entities', [...bytes].map((byte) => `&#${byte};`).join('')],
    ['deflated', deflateSync(bytes).toString('base64').slice(0, 24)],
    ['rot13', secret.replace(/[a-z]/g, (c) => String.fromCharCode(((c.charCodeAt(0) - 97 + 13) % 26) + 97))],
  ];
  // Base64 depends on where the secret stands in what was encoded: three alignments, without the ends that neighbours share.
  for (let pad = 0; pad < 3; pad++) {
    const whole = Buffer.concat([Buffer.alloc(pad), bytes])
      .toString('base64')
      .replace(/=+$/, '');
    forms.push([`base64 at ${pad}`, whole.slice(pad === 0 ? 0 : 4, whole.length - 2)]);
  }
  return forms.map(([name, text]) => ({ name, text }));
}
