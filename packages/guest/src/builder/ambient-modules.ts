import { Refusal } from './refusal.ts';

const typescriptFile = /\.(?:[cm]?ts|tsx)$/i;
const sdkName = '@glovebox/sdk';

/** What TypeScript passes over between the keyword and the name, comments aside. Line ends are too much, and do no harm. */
const blank = /[\s\u0085\u200b\ufeff]/;
const lineEnds = ['\n', '\r', '\u2028', '\u2029'];

/** No module has a longer name that matters here. */
const maxNameLength = 1000;

/**
 * Refuse a TypeScript file that declares, in place of what the type checker would find, the types of the SDK or of whatever
 * a relative import names: everything that is used wrongly would then pass.
 *
 * The text is read for `module '<name>'`, in linear time and without a grammar, since what a grammar takes for code is the
 * type checker's business. So it says too much rather than too little; only what stands in a line that is plainly a comment
 * is passed over.
 *
 * @param path as the file is called in its package.
 */
export function refuseAmbientModule(path: string, bytes: Buffer, rule: Refusal['rule']): Refusal | undefined {
  if (!typescriptFile.test(path)) return undefined;
  const name = standInOf(decode(bytes));
  if (name === undefined) return undefined;
  return new Refusal(rule, `it declares the module ${JSON.stringify(name)}, which is not its to declare`, path);
}

/** As TypeScript reads a file: by its byte order mark, else as UTF-8. */
function decode(bytes: Buffer): string {
  const mark = (bytes[0] ?? 0) * 256 + (bytes[1] ?? 0);
  const encoding = mark === 0xfffe ? 'utf-16le' : mark === 0xfeff ? 'utf-16be' : 'utf-8';
  return new TextDecoder(encoding).decode(bytes);
}

function standInOf(text: string): string | undefined {
  const keyword = 'module';
  let close = -2;
  for (let at = text.indexOf(keyword); at !== -1; at = text.indexOf(keyword, at + keyword.length)) {
    let quote = at + keyword.length;
    for (;;) {
      while (quote < text.length && blank.test(text.charAt(quote))) quote++;
      if (!text.startsWith('/*', quote)) break;
      // Kept from one keyword to the next: many of them in one comment must not look for its end each.
      if (close !== -1 && close < quote + 2) close = text.indexOf('*/', quote + 2);
      if (close === -1) break;
      quote = close + 2;
    }
    const mark = text.charAt(quote);
    if (mark !== "'" && mark !== '"') continue;
    const [name = ''] = text.slice(quote + 1, quote + 1 + maxNameLength).split(mark, 1);
    if (standsIn(name) && !isProse(text, at)) return name;
  }
  return undefined;
}

function standsIn(name: string): boolean {
  // An escape is there to be read as something else.
  if (name === sdkName || name.startsWith(`${sdkName}/`) || name.includes('\\')) return true;
  // What `imports` of a package leads to is a file of its own.
  if (name.startsWith('#')) return true;
  const star = name.indexOf('*');
  if (star === -1) return false;
  // `*.svg`, `*?raw` and `text!*` are for files that are no code, and `package/*` is for packages without types.
  const suffix = name.slice(star + 1);
  const isForOtherFiles = /[.?&!][\w-]+$/.test(suffix) && !/\.(?:[cm]?[jt]sx?|json)$/i.test(suffix);
  return /^(?:[.@]|$)/.test(name.slice(0, star)) && !isForOtherFiles;
}

/**
 * Whether a line, up to what was found in it, is a comment whatever stands above it: a string or template that began there
 * would have to end first, and so would a comment. An asterisk may also multiply: then a statement has to end before the
 * next one begins.
 */
function isProse(text: string, at: number): boolean {
  const start = Math.max(...lineEnds.map((end) => text.lastIndexOf(end, at))) + 1;
  const line = text.slice(start, at).trimStart();
  if (!/^(?:\/\/|\/\*|\*)/.test(line) || line.includes('*/') || /['"`]/.test(line)) return false;
  return !line.startsWith('*') || !/[;{}()]/.test(line);
}
