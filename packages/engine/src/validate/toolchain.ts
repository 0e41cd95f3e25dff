import type { ImageInfo } from '../ports.ts';

/** What decides what an artifact is: the same on every machine, whatever else its images hold. */
const tools = ['node', 'typescript', 'esbuild', 'sdk'];

/** The tools of the images as text, sorted, such as `node@26.12.1`. */
export function toolchainText(images: readonly ImageInfo[]): string[] {
  const found = new Map<string, string>();
  for (const { contents } of images) {
    for (const tool of tools) {
      const version = contents[tool];
      if (version !== undefined) found.set(tool, version);
    }
  }
  return [...found].map(([tool, version]) => `${tool}@${version}`).sort();
}
