import { domainToUnicode } from 'node:url';

/** In A-labels: 1 to 63 of a-z, 0-9, hyphen and underscore each, 253 in all, no dot at the end. */
export function isHostName(host: string): boolean {
  return host.length <= 253 && host.split('.').every((label) => /^[a-z0-9_-]{1,63}$/.test(label));
}

/**
 * Whether a host as it was written is the one that a URL parser made of it, label by label: the same letters in ASCII, or the
 * very name in Unicode whose A-label it is. What was folded into ASCII (full-width letters, invisible characters, other dots)
 * is another name to whoever folds less.
 */
export function isSameHost(written: string, parsed: string): boolean {
  const labels = written.split('.');
  const parsedLabels = parsed.split('.');
  return (
    labels.length === parsedLabels.length &&
    labels.every((label, index) => isSameLabel(label, parsedLabels[index] as string))
  );
}

function isSameLabel(written: string, parsed: string): boolean {
  if (/^[\x21-\x7e]+$/.test(written)) return written.toLowerCase() === parsed;
  return parsed.startsWith('xn--') && domainToUnicode(parsed) === written.normalize('NFC').toLowerCase();
}
