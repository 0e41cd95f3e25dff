import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

/** The handler's body, with `ctx` in scope; what it returns is the output. */
export interface NodeSource {
  body: string;
  /** Imports and helpers before the handler. */
  top?: string;
  manifest?: Record<string, unknown>;
  files?: Record<string, string>;
  id?: string;
}

/** Write a node package without dependencies around a handler. Input and output are anything unless the manifest says more. */
export async function writeNode(
  dir: string,
  { body, top = '', manifest = {}, files = {}, id = 'test-node' }: NodeSource,
): Promise<string> {
  const content: Record<string, string> = {
    'node.json': JSON.stringify(
      { schemaVersion: 1, id, title: 'A node of a test', input: {}, output: {}, ...manifest },
      undefined,
      2,
    ),
    'package.json': JSON.stringify({
      name: id,
      version: '1.0.0',
      license: 'Apache-2.0',
      private: true,
      type: 'module',
    }),
    'src/index.ts': `import { defineNode } from '@glovebox/sdk';\n${top}\nexport default defineNode<any, any, any>(async (ctx) => {\n${body}\n});\n`,
    ...files,
  };
  for (const [name, text] of Object.entries(content)) {
    const path = join(dir, name);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, text);
  }
  return dir;
}
