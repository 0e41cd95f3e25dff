import type { Json } from '@glovebox/contract';
import { expect, it } from 'vitest';
import { makeParts, metafile } from '../../../test/support/artifact.ts';
import { composeArtifact } from './compose-artifact.ts';
import { composeSbom } from './sbom.ts';

const { config } = composeArtifact(makeParts());

it('names the packages that have bytes in the bundle, by place, with package URL and hash', () => {
  expect(composeSbom(config, metafile)).toEqual({
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: {
      tools: {
        components: [
          { type: 'application', name: 'esbuild', version: '0.28.2' },
          { type: 'application', name: 'node', version: '26.12.1' },
          { type: 'application', name: 'sdk', version: '0.1.0' },
          { type: 'application', name: 'typescript', version: '7.0.2' },
        ],
      },
      component: {
        type: 'application',
        'bom-ref': 'pkg:npm/%40acme/csv-profile@1.2.3',
        name: '@acme/csv-profile',
        version: '1.2.3',
        purl: 'pkg:npm/%40acme/csv-profile@1.2.3',
        licenses: [{ license: { name: 'MIT' } }],
      },
    },
    components: [
      {
        type: 'library',
        'bom-ref': 'node_modules/@acme/base',
        name: '@acme/base',
        version: '1.0.0+x',
        purl: 'pkg:npm/%40acme/base@1.0.0%2Bx',
        hashes: [{ alg: 'SHA-512', content: 'b'.repeat(128) }],
      },
      {
        type: 'library',
        'bom-ref': 'node_modules/@acme/base/node_modules/papaparse',
        name: 'papaparse',
        version: '4.0.0',
        purl: 'pkg:npm/papaparse@4.0.0',
        hashes: [{ alg: 'SHA-512', content: 'c'.repeat(128) }],
      },
      {
        type: 'library',
        'bom-ref': 'node_modules/papaparse',
        name: 'papaparse',
        version: '5.5.3',
        purl: 'pkg:npm/papaparse@5.5.3',
        hashes: [{ alg: 'SHA-512', content: 'a'.repeat(128) }],
      },
      { type: 'framework', 'bom-ref': 'sdk', name: '@glovebox/sdk', version: '0.1.0' },
    ],
    dependencies: [
      { ref: 'node_modules/@acme/base', dependsOn: ['node_modules/@acme/base/node_modules/papaparse'] },
      { ref: 'node_modules/@acme/base/node_modules/papaparse', dependsOn: [] },
      { ref: 'node_modules/papaparse', dependsOn: [] },
      {
        ref: 'pkg:npm/%40acme/csv-profile@1.2.3',
        dependsOn: ['node_modules/@acme/base', 'node_modules/papaparse', 'sdk'],
      },
      { ref: 'sdk', dependsOn: [] },
    ],
  });
});

it.each<[string, Json]>([
  ['nothing', null],
  ['no outputs', { inputs: {} }],
  ['inputs without imports', { inputs: { a: {} }, outputs: {} }],
  [
    'a package that is not locked',
    { inputs: {}, outputs: { 'bundle.mjs': { inputs: { 'node_modules/stranger/a.js': { bytesInOutput: 1 } } } } },
  ],
])('is not made from %s', (_what, value) => {
  expect(() => composeSbom(config, value)).toThrow(expect.objectContaining({ code: 'INTERNAL' }));
});
