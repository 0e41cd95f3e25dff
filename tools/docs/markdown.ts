/** The parts of a Markdown text that checks look at. Lines count from 1. */
export interface MarkdownParts {
  links: { target: string; line: number }[];
  /** Slugs of the headings, as GitHub makes them. */
  anchors: Set<string>;
  /** Text between single backticks outside of code blocks. */
  code: { text: string; line: number }[];
  /** Lines of fenced code blocks, with the language named behind the fence. */
  commands: { text: string; language: string; line: number }[];
}

export function readMarkdown(text: string): MarkdownParts {
  const parts: MarkdownParts = { links: [], anchors: new Set(), code: [], commands: [] };
  let language: string | undefined;
  text.split('\n').forEach((content, index) => {
    const line = index + 1;
    const fence = /^\s*```(\S*)/.exec(content);
    if (fence) {
      language = language === undefined ? (fence[1] ?? '') : undefined;
    } else if (language !== undefined) {
      parts.commands.push({ text: content, language, line });
    } else {
      const heading = /^#{1,6}\s+(.*)$/.exec(content)?.[1];
      if (heading !== undefined) parts.anchors.add(slug(heading, parts.anchors));
      for (const [, code = ''] of content.matchAll(/`([^`]+)`/g)) parts.code.push({ text: code, line });
      const prose = content.replaceAll(/`[^`]*`/g, '``');
      for (const [, target = ''] of prose.matchAll(/\]\(\s*<?([^)\s>]+)>?[^)]*\)/g)) parts.links.push({ target, line });
    }
  });
  return parts;
}

function slug(heading: string, taken: ReadonlySet<string>): string {
  const plain = heading
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(/\s/g, '-');
  let unique = plain;
  for (let n = 1; taken.has(unique); n++) unique = `${plain}-${n}`;
  return unique;
}
