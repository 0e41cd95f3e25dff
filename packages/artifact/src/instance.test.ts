import { execFileSync, spawn } from 'node:child_process';
import { verify } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { killAtNthWrite } from '../../../test/support/kill-at-nth-write.ts';
import { makePredicate } from '../test/support/predicate.ts';
import { openInstance, readPublicKey, signReceipt, verifyReceipt } from './index.ts';
import { pinKey } from './keys.ts';

const isRoot = process.getuid?.() === 0;
let root: string;
let dataDir: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'glovebox-instance-'));
  dataDir = join(root, 'deep', 'data');
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

/** A process of its own that opens the instance. */
function openElsewhere(
  dir: string,
  flags: string[] = [],
): Promise<{ signal: NodeJS.Signals | null; code: number | null; out: string; err: string }> {
  const program = fileURLToPath(new URL('../test/support/open-instance.ts', import.meta.url));
  const child = spawn(process.execPath, [...flags, program, dir], {
    env: { NODE_COMPILE_CACHE: join(root, 'cache') },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let out = '';
  let err = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    out += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    err += text;
  });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => resolve({ code, signal, out: out.trim(), err }));
  });
}

const filesOf = (dir: string): string[] => readdirSync(dir, { recursive: true, encoding: 'utf8' }).sort();
const allFiles = ['instance.json', 'keys', join('keys', 'signing.pem'), join('keys', 'signing.pub.pem')];

describe('first use', () => {
  it('makes the directory, the instance and its key, for their owner alone', async () => {
    const { instance, signer, publicKeyPem } = await openInstance(dataDir);
    expect(instance).toMatch(/^ins_[0-9a-z]{22}$/);
    expect(signer.instance).toBe(instance);
    expect(filesOf(dataDir)).toEqual(allFiles);
    const modes = [dataDir, ...allFiles.map((name) => join(dataDir, name))].map((path) => statSync(path).mode & 0o777);
    expect(modes).toEqual([0o700, 0o600, 0o700, 0o600, 0o600]);
    expect(readFileSync(join(dataDir, 'keys', 'signing.pub.pem'), 'utf8')).toBe(publicKeyPem);
    expect(pinKey(publicKeyPem).keyId).toBe(signer.keyId);
    const payload = Buffer.from('payload');
    expect(verify(null, payload, publicKeyPem, await signer.sign(payload))).toBe(true);
  });

  it('happens once: later ones find the same, and what it signs verifies with the public key from disk', async () => {
    const first = await openInstance(dataDir);
    const second = await openInstance(dataDir);
    expect([second.instance, second.signer.keyId, second.publicKeyPem]).toEqual([
      first.instance,
      first.signer.keyId,
      first.publicKeyPem,
    ]);
    const { envelopeText } = await signReceipt({ ...makePredicate(), instance: second.instance }, second.signer);
    const pem = readFileSync(join(dataDir, 'keys', 'signing.pub.pem'), 'utf8');
    expect(verifyReceipt(Buffer.from(envelopeText), { keys: [pem] })).toMatchObject({
      ok: true,
      keyId: first.signer.keyId,
    });
  });

  it('agrees on one instance and one key among processes that start at once', async () => {
    const results = await Promise.all(Array.from({ length: 4 }, () => openElsewhere(dataDir)));
    const { instance, signer } = await openInstance(dataDir);
    for (const { code, out, err } of results)
      expect({ code, out, err }).toEqual({ code: 0, out: `${instance} ${signer.keyId}`, err: '' });
    expect(filesOf(dataDir)).toEqual(allFiles);
  });

  it('can be killed at each of its changes to the disk: the next start completes it, with nothing left over', async () => {
    // One that lives leaves its compiled code to those that die.
    await openElsewhere(join(root, 'unharmed'));
    let deaths = 0;
    for (let next = 1, alive = false; !alive; next += 3) {
      const rounds = [next, next + 1, next + 2].map(async (n) => {
        const dir = join(root, `killed-${n}`);
        const { signal, code } = await openElsewhere(dir, killAtNthWrite(n));
        return { n, dir, signal, code };
      });
      for (const { n, dir, signal, code } of await Promise.all(rounds)) {
        if (signal === 'SIGKILL') deaths++;
        else {
          alive = true;
          expect({ n, code }).toEqual({ n, code: 0 });
        }
        const before = existsSync(join(dir, 'instance.json'))
          ? readFileSync(join(dir, 'instance.json'), 'utf8')
          : undefined;
        const { instance, signer, publicKeyPem } = await openInstance(dir);
        if (before !== undefined) expect(JSON.parse(before)).toMatchObject({ id: instance });
        expect(verify(null, Buffer.from('x'), publicKeyPem, await signer.sign(Buffer.from('x')))).toBe(true);
        await openInstance(dir);
        expect({ n, files: filesOf(dir) }).toEqual({ n, files: allFiles });
      }
    }
    expect(deaths).toBeGreaterThan(15);
  });
});

describe('an instance that is there', () => {
  const at = (...names: string[]): string => join(dataDir, ...names);
  const pem = (): string => at('keys', 'signing.pem');

  beforeEach(async () => {
    await openInstance(dataDir);
  });

  const refused = async (code: string, hint?: RegExp): Promise<void> => {
    const error: unknown = await openInstance(dataDir).then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    expect(error).toMatchObject({
      name: 'GloveboxError',
      code,
      ...(hint ? { hint: expect.stringMatching(hint) } : {}),
    });
  };

  it.each<[string, string, () => void]>([
    ['a data directory that others can list', 'DATA_DIR_UNUSABLE', () => chmodSync(dataDir, 0o755)],
    ['an instance file that others can change', 'DATA_DIR_UNUSABLE', () => chmodSync(at('instance.json'), 0o622)],
    ['keys that others can list', 'KEY_UNUSABLE', () => chmodSync(at('keys'), 0o750)],
    ['a key that others can read', 'KEY_UNUSABLE', () => chmodSync(pem(), 0o640)],
    ['a public key that others can change', 'KEY_UNUSABLE', () => chmodSync(at('keys', 'signing.pub.pem'), 0o666)],
  ])('is refused with %s, with the command that mends it', async (_what, code, spoil) => {
    spoil();
    await refused(code, /^Run: chmod [67]00 \//);
    const { hint } = (await openInstance(dataDir).catch((thrown: unknown) => thrown)) as { hint: string };
    execFileSync('sh', ['-c', hint.slice('Run: '.length)]);
    await openInstance(dataDir);
  });

  it.each<[string, string, () => void]>([
    [
      'a link in the place of the data directory',
      'DATA_DIR_UNUSABLE',
      () => {
        renameSync(dataDir, `${dataDir}-real`);
        symlinkSync(`${dataDir}-real`, dataDir);
      },
    ],
    [
      'a link in the place of the instance file',
      'DATA_DIR_UNUSABLE',
      () => {
        renameSync(at('instance.json'), at('real.json'));
        symlinkSync(at('real.json'), at('instance.json'));
      },
    ],
    [
      'a link in the place of the key',
      'KEY_UNUSABLE',
      () => {
        renameSync(pem(), at('real.pem'));
        symlinkSync(at('real.pem'), pem());
      },
    ],
    [
      'a link in the place of the keys',
      'KEY_UNUSABLE',
      () => {
        renameSync(at('keys'), at('real'));
        symlinkSync(at('real'), at('keys'));
      },
    ],
    [
      'a pipe in the place of the key',
      'KEY_UNUSABLE',
      () => {
        rmSync(pem());
        execFileSync('mkfifo', ['-m', '600', pem()]);
      },
    ],
    [
      'a directory in the place of the instance file',
      'DATA_DIR_UNUSABLE',
      () => {
        rmSync(at('instance.json'));
        mkdirSync(at('instance.json'));
      },
    ],
    ['a key that is gone', 'KEY_UNUSABLE', () => rmSync(pem())],
    ['a key that is empty', 'KEY_UNUSABLE', () => writeFileSync(pem(), '')],
    ['a key cut short', 'KEY_UNUSABLE', () => writeFileSync(pem(), readFileSync(pem()).subarray(0, 60))],
    ['a key of another kind', 'KEY_UNUSABLE', () => writeFileSync(pem(), readFileSync(at('keys', 'signing.pub.pem')))],
    ['a public key that is damaged', 'KEY_UNUSABLE', () => writeFileSync(at('keys', 'signing.pub.pem'), 'x')],
    [
      'an instance file that is too large',
      'DATA_DIR_UNUSABLE',
      () => writeFileSync(at('instance.json'), ' '.repeat(100_000)),
    ],
    ['an empty instance file', 'DATA_DIR_UNUSABLE', () => writeFileSync(at('instance.json'), '')],
    ['an instance file with an unknown field', 'DATA_DIR_UNUSABLE', () => addToInstance({ extra: 1 })],
    [
      'an instance file with another schema',
      'DATA_DIR_UNUSABLE',
      () => addToInstance({ schema: 'glovebox.instance/2' }),
    ],
    ['an instance file with a wrong id', 'DATA_DIR_UNUSABLE', () => addToInstance({ id: '../x' })],
  ])('is refused with %s', async (_what, code, spoil) => {
    spoil();
    await refused(code);
  });

  function addToInstance(fields: Record<string, unknown>): void {
    const path = at('instance.json');
    writeFileSync(path, JSON.stringify({ ...JSON.parse(readFileSync(path, 'utf8')), ...fields }));
  }

  it.skipIf(!isRoot).each(['', 'instance.json', 'keys', join('keys', 'signing.pem'), join('keys', 'signing.pub.pem')])(
    'is refused when "%s" belongs to someone else, and opens when it is its own again',
    async (name) => {
      chownSync(at(name), 12345, 12345);
      await refused(name.startsWith('keys') ? 'KEY_UNUSABLE' : 'DATA_DIR_UNUSABLE');
      chownSync(at(name), 0, 0);
      await openInstance(dataDir);
    },
  );

  it('gets its public key back from the private one', async () => {
    const path = at('keys', 'signing.pub.pem');
    const before = readFileSync(path, 'utf8');
    rmSync(path);
    expect((await openInstance(dataDir)).publicKeyPem).toBe(before);
    expect(readFileSync(path, 'utf8')).toBe(before);
  });

  it('does not sign when its two keys do not belong together', async () => {
    const otherDir = join(root, 'other');
    await openInstance(otherDir);
    writeFileSync(at('keys', 'signing.pub.pem'), readFileSync(join(otherDir, 'keys', 'signing.pub.pem')));
    const { signer } = await openInstance(dataDir);
    await expect(signer.sign(Buffer.from('x'))).rejects.toMatchObject({ code: 'KEY_UNUSABLE' });
  });

  it('tidies up after a start that died between naming its file and removing the temporary one', async () => {
    linkSync(at('instance.json'), at('.instance.json.0011223344556677'));
    await openInstance(dataDir);
    expect(filesOf(dataDir)).toEqual(allFiles);
  });
});

describe('a data directory that cannot be used', () => {
  it('is named: a file, and a place below a file', async () => {
    writeFileSync(join(root, 'file'), '');
    for (const dir of [join(root, 'file'), join(root, 'file', 'data')]) {
      await expect(openInstance(dir)).rejects.toMatchObject({ code: 'DATA_DIR_UNUSABLE', place: { file: dir } });
    }
  });

  it.skipIf(!isRoot)('is told as a full disk where that is the reason, and leaves nothing half-written', async () => {
    const disk = join(root, 'disk');
    mkdirSync(disk);
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', disk]);
    try {
      const dir = join(disk, 'data');
      mkdirSync(dir, { mode: 0o700 });
      try {
        writeFileSync(join(disk, 'ballast'), Buffer.alloc(128 * 1024));
      } catch {
        // Full, as wanted.
      }
      await expect(openInstance(dir)).rejects.toMatchObject({ code: 'DISK_FULL' });
      expect(filesOf(dir).filter((name) => name !== 'keys')).toEqual([]);
      rmSync(join(disk, 'ballast'));
      await openInstance(dir);
      expect(filesOf(dir)).toEqual(allFiles);
    } finally {
      execFileSync('umount', [disk]);
    }
  });
});

describe('the public key alone', () => {
  it('is read from a data directory, and nothing is made', async () => {
    expect(() => readPublicKey(dataDir)).toThrow(expect.objectContaining({ code: 'KEY_UNUSABLE' }));
    expect(existsSync(dataDir)).toBe(false);
    const { publicKeyPem } = await openInstance(dataDir);
    expect(readPublicKey(dataDir)).toBe(publicKeyPem);
  });

  it.each<[string, () => void]>([
    ['a data directory that others can reach', () => chmodSync(dataDir, 0o755)],
    ['a keys directory that others can reach', () => chmodSync(join(dataDir, 'keys'), 0o755)],
    ['a key that others can change', () => chmodSync(join(dataDir, 'keys/signing.pub.pem'), 0o666)],
    [
      'a link',
      () =>
        renameSync(join(dataDir, 'keys'), join(root, 'keys')) ?? symlinkSync(join(root, 'keys'), join(dataDir, 'keys')),
    ],
    ['nothing', () => rmSync(join(dataDir, 'keys/signing.pub.pem'))],
  ])('is not trusted from %s', async (_, change) => {
    await openInstance(dataDir);
    change();
    expect(() => readPublicKey(dataDir)).toThrow(expect.objectContaining({ code: 'KEY_UNUSABLE' }));
  });
});
