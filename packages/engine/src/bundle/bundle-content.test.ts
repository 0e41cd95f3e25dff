import { expect, it } from 'vitest';
import { cellLayout } from './build-options.ts';
import { checkBundleContent, type Metafile } from './bundle-content.ts';

const pkg = { files: new Map([['src/index.ts', Buffer.from('')]]), dependencies: [] };
const external = (path: string) => ({ path, kind: 'import-statement', external: true });

function metafile(inputs: Metafile['inputs'], imports: Metafile['outputs'][string]['imports'] = []): Metafile {
  return { inputs, outputs: { 'bundle.mjs': { imports } } };
}

it('names what is imported and not there, with the file that does it, and takes what Node.js has', () => {
  const imports = [external('node:fs'), external('no-such')];
  const findings = checkBundleContent(metafile({ 'src/index.ts': { imports } }, imports), pkg, [], cellLayout);
  expect(findings.map(({ place, message }) => [place.file, message.includes('"no-such"')])).toEqual([
    ['src/index.ts', true],
  ]);
});

// Looking for the importer of each took the square of their number: minutes for what fits in one source file.
it('tells the first hundred of 150,000 imports that are not there', () => {
  const imports = Array.from({ length: 150_000 }, (_, n) => external(`node:n${n}`));
  const findings = checkBundleContent(metafile({ 'src/index.ts': { imports } }, imports), pkg, [], cellLayout);
  expect(findings).toHaveLength(100);
});

it('tells the first hundred of 150,000 files that belong to nobody', () => {
  const inputs = Object.fromEntries(Array.from({ length: 150_000 }, (_, n) => [`../f${n}`, { imports: [] }]));
  expect(checkBundleContent(metafile(inputs), pkg, [], cellLayout)).toHaveLength(100);
});
