/** What a terminal would obey: moves, titles, answers typed for the user, other writing directions, a C1 introducer. */
export const hostile =
  'A\u001b[2J\u001b[H\u001b]0;owned\u0007\u001b[6n\u009b31mB\rC\bD\u202eE\u2066F\u061cG\u2028H\u007fI\u0000J\u001b[31mK\u001b]52;c;aGk=\u001b\\L';

/** Everything but line feed, tab, and the changes of colour that the CLI itself makes on a terminal. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters that must not come through
export const raw = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/;
