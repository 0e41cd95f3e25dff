import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { useCli } from '../support/use-cli.ts';

const cli = useCli();

describe('a runtime that answers and then hangs', () => {
  it.each<[string, string]>([
    ['quietly', 'trap "" TERM INT HUP\nsleep 600 & sleep 600 & wait\n'],
    ['busily', 'trap "" TERM INT HUP\nwhile :; do :; done\n'],
    ['and talks', 'while :; do echo "{\\"level\\":\\"info\\"}"; echo talk >&2; sleep 0.01; done\n'],
  ])('%s is given up at the deadline, with all that it has started', async (_, body) => {
    const path = join(cli().dir, 'runtime');
    writeFileSync(path, `#!/bin/sh\n[ "$1" = --version ] && { echo crun version 9.9; exit; }\n${body}`);
    chmodSync(path, 0o755);
    expect((await cli().run(['run', 'list'])).code).toBe(0);
    writeFileSync(join(cli().dataDir, 'glovebox.yaml'), `runtime: ${path}\n`, { mode: 0o600 });
    await cli().node('waiting', { id: 'waiting', body: `return ${JSON.stringify(body)};` });
    const { code, json } = await cli().run(['node', 'run', 'waiting', '--trial', '--json']);
    expect({ code, error: json().error?.code }).toEqual({
      code: 3,
      error: expect.stringMatching(/^(RUNTIME_BROKEN|CELL_BOOT_FAILED)$/),
    });
    expect(json().error?.hint).toMatch(/\S/);
    expect(cli().residue()).toEqual([]);
    expect(cli().leftovers()).toEqual([]);
  });

  it('is told by doctor', async () => {
    const { code, stdout } = await cli().run(['doctor']);
    expect(code).toBe(3);
    expect(stdout).toMatch(/✗ probe-cell /);
  });
});
