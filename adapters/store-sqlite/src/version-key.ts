import { GloveboxError } from '@glovebox/contract/errors';

/** Widest number in a version; see versionPattern in the contract. */
const digits = 9;
const number = new RegExp(`^(?:0|[1-9]\\d{0,${digits - 1}})$`);

/**
 * A text that sorts as the version does: of two versions, the one that semver 2.0.0 (section 11) ranks higher has the greater
 * key, by code units as SQLite compares text.
 *
 * Numbers are filled up with zeros. A prerelease (`-`) comes before the release itself (`~`). Of its identifiers, numbers (`0`)
 * come before words (`1`), and where one list begins another, the longer one is greater: what parts them, a space, comes
 * before any character of a word.
 *
 * @throws GloveboxError `INTERNAL` for what is no version of the contract.
 */
export function versionKey(version: string): string {
  const dash = version.indexOf('-');
  const core = dash === -1 ? version : version.slice(0, dash);
  const numbers = core.split('.');
  if (numbers.length !== 3) refuse(version);
  const release = numbers.map((text) => padded(text, version)).join('.');
  return dash === -1 ? `${release}~` : `${release}-${prereleaseKey(version.slice(dash + 1), version)}`;
}

export const isPrerelease = (version: string): boolean => version.includes('-');

function prereleaseKey(text: string, version: string): string {
  return text
    .split('.')
    .map((identifier) => {
      if (!/^[0-9A-Za-z-]+$/.test(identifier)) refuse(version);
      return /^\d+$/.test(identifier) ? `0${padded(identifier, version)}` : `1${identifier}`;
    })
    .join(' ');
}

function padded(text: string, version: string): string {
  if (!number.test(text)) refuse(version);
  return text.padStart(digits, '0');
}

function refuse(version: string): never {
  throw new GloveboxError('INTERNAL', { message: `${JSON.stringify(version)} is not a version` });
}
