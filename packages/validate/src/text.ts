/** At most `max` characters of a text. */
export const shortened = (text: string, max: number): string =>
  text.length <= max ? text : `${text.slice(0, max - 1)}…`.toWellFormed();

/** Hostile text, fit for a line of a report: quoted, control characters escaped, at most `max` characters of it. */
export function quoted(text: string, max = 80): string {
  const cut = text.length > max ? `${text.slice(0, max)}…` : text;
  return JSON.stringify(cut.toWellFormed()).replace(
    /[\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g,
    (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
