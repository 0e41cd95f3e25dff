/**
 * Text that came out of a builder cell, made fit for messages: names in it were chosen by whoever packed the archive, and
 * could otherwise move the cursor of a terminal or write lines of their own into a log.
 */
export function printable(unsafeText: string, maxLength = 300): string {
  let text = '';
  for (const character of unsafeText.slice(0, maxLength)) {
    const code = character.codePointAt(0) as number;
    if (isHarmless(code)) text += character;
    else text += `\\u{${code.toString(16)}}`;
  }
  return unsafeText.length > maxLength ? `${text}…` : text;
}

/** Not a control, not a lone surrogate, not a mark that turns the direction of the text around it. */
function isHarmless(code: number): boolean {
  if (code < 0x20 || (code >= 0x7f && code < 0xa0)) return false;
  if (code >= 0xd800 && code <= 0xdfff) return false;
  if (code === 0x61c || (code >= 0x200b && code <= 0x200f)) return false;
  return !((code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069) || code === 0xfeff);
}
