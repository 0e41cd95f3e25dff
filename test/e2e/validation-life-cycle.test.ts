import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { GloveboxError } from '@glovebox/contract';
import { type CheckEvent, type Engine, publishRelease, putDraft, validateDraft } from '@glovebox/engine';
import { readSnapshotDir } from '@glovebox/validate';
import { describe, expect, it } from 'vitest';
import { useEngine } from '../support/use-engine.ts';
import { actor, goodPackage, putFiles, told, validateFiles } from '../support/validation.ts';

const engine = useEngine();
const project = 'default';
const id = 'adder';

/** Its own bytes, so that no verdict on them is known. */
const fresh = (mark: string, files: { [path: string]: string | null } = {}) =>
  goodPackage({ 'src/add.ts': `// ${mark}\nexport const add = (a: number, b: number): number => a + b;\n`, ...files });

const stateOf = async (): Promise<string | undefined> => (await engine().engine.drafts.get(project, id))?.draft.state;

const packageOf = (version: string): string =>
  JSON.stringify({ name: id, version, license: 'Apache-2.0', private: true, type: 'module' });

const codes = (error: unknown): string => (error instanceof GloveboxError ? error.code : String(error));

describe('a validation that goes on', () => {
  it('keeps a second one out, and another revision, and lets the same bytes be put again', async () => {
    const files = fresh('second');
    const { revision } = await putFiles(engine().engine, files);
    const request = { project, id, revision, actor };
    let others: Promise<unknown[]> | undefined;
    const meanwhile = (): void => {
      others ??= Promise.all([
        validateDraft(engine().engine, request).catch(codes),
        putFiles(engine().engine, fresh('another')).catch(codes),
        putDraft(engine().engine, { project, actor, files }).then(({ kind }) => kind, codes),
        stateOf(),
      ]);
    };
    const first = await validateDraft(engine().engine, request, { onCheck: meanwhile });
    expect(await others).toEqual(['DRAFT_BUSY', 'DRAFT_BUSY', 'unchanged', 'validating']);
    expect([first.draft.state, await stateOf()]).toEqual(['passed', 'passed']);
  });

  it('is one of two that begin at once', async () => {
    const { revision } = await putFiles(engine().engine, fresh('at once'));
    const request = { project, id, revision, actor };
    const outcomes = await Promise.all(
      [0, 1].map(() => validateDraft(engine().engine, request).then(({ draft }) => draft.state, codes)),
    );
    expect(outcomes.sort()).toEqual(['DRAFT_BUSY', 'passed']);
  });

  it('ends without a verdict when it is stopped, with no cell left, and can be begun again', async () => {
    const files = fresh('stopped', {
      'fixtures/basic.json': JSON.stringify({ input: { a: 1, b: 2 }, expect: { output: { sum: 3 } } }),
    });
    const stop = new AbortController();
    const { revision } = await putFiles(engine().engine, files);
    const onCheck = (event: CheckEvent): void => {
      if (event.kind === 'started' && event.check === 'types') setTimeout(() => stop.abort(), 150);
    };
    const stopped = await validateDraft(engine().engine, { project, id, revision, actor }, { onCheck }, stop.signal);
    const states = new Map(stopped.report.checks.map((check) => [check.id, check.state]));
    expect([stopped.draft.state, stopped.artifact, stopped.report.valid]).toEqual(['draft', null, false]);
    expect(states.get('lockfile')).toBe('passed');
    expect([...states.values()]).toContain('cancelled');
    expect([...states.values()].filter((state) => state === 'failed' || state === 'unavailable')).toEqual([]);
    expect(await readdir(join(engine().dataDir, 'run', 'cells'))).toEqual([]);

    const again = await validateFiles(engine().engine, files);
    expect(again.draft.state).toBe('passed');
  });

  it('ends without a verdict when it is stopped before it began', async () => {
    const { revision } = await putFiles(engine().engine, fresh('never'));
    const before = engine().boots.length;
    const request = { project, id, revision, actor };
    const { draft, report } = await validateDraft(engine().engine, request, {}, AbortSignal.abort());
    expect(draft.state).toBe('draft');
    expect(report.checks.map(({ state }) => state).slice(3)).toEqual([
      'cancelled',
      'cancelled',
      'cancelled',
      'cancelled',
    ]);
    expect(engine().boots.length).toBe(before);
  });
});

it('boots for several validations at once no more cells than for one, and all pass', async () => {
  const { driver } = engine().engine;
  let [alive, most] = [0, 0];
  const counted: typeof driver = {
    ...driver,
    async boot(plan, cell) {
      most = Math.max(most, ++alive);
      const booted = await driver.boot(plan, cell);
      void booted.ended.then(() => alive--);
      return booted;
    },
  };
  const states = await Promise.all(
    ['one', 'two', 'three'].map(async (project) => {
      const { draft } = await putDraft(engine().engine, { project, actor, files: fresh(`at once, ${project}`) });
      const request = { project, id, revision: draft.revision, actor };
      return (await validateDraft({ ...engine().engine, driver: counted }, request)).draft.state;
    }),
  );
  expect(states).toEqual(['passed', 'passed', 'passed']);
  expect(most).toBeLessThanOrEqual(Math.max(2, availableParallelism()));
});

describe('a validation of which the store cannot be told how it ended', () => {
  const mute = (): Engine => {
    const full = () => Promise.reject(new GloveboxError('DISK_FULL'));
    return { ...engine().engine, drafts: { ...engine().engine.drafts, endValidation: full, abandonValidation: full } };
  };

  it('holds its draft only until another one begins, once the store can be written', async () => {
    const { revision } = await putFiles(engine().engine, fresh('mute'));
    const request = { project, id, revision, actor };
    await expect(validateDraft(mute(), request)).rejects.toMatchObject({ code: 'DISK_FULL' });
    expect(await stateOf()).toBe('validating');
    await expect(validateDraft(mute(), request)).rejects.toMatchObject({ code: 'DISK_FULL' });
    expect((await validateDraft(engine().engine, request)).draft.state).toBe('passed');
    const abandoned = await engine().engine.audit.list({ limit: 100, action: 'draft.validation-abandoned' });
    expect(abandoned.at(-1)).toMatchObject({ actor, subject: `${project}/${id}`, details: { revision } });
  });

  it('does not keep another revision out either', async () => {
    const { revision } = await putFiles(engine().engine, fresh('mute'));
    const stopped = validateDraft(mute(), { project, id, revision, actor }, {}, AbortSignal.abort());
    await expect(stopped).rejects.toMatchObject({ code: 'DISK_FULL' });
    await expect(putDraft(mute(), { project, actor, files: fresh('mute, next') })).rejects.toMatchObject({
      code: 'DISK_FULL',
    });
    const put = await putDraft(engine().engine, { project, actor, files: fresh('mute, next') });
    expect([put.kind, put.draft.state]).toEqual(['replaced', 'draft']);
  });
});

describe('what a validation tells of the draft', () => {
  const next = () => fresh('told next', { 'package.json': packageOf('1.1.0') });
  /** The same engine, in which another revision is put as soon as that transition is done. */
  const overtaken = (transition: 'beginValidation' | 'endValidation' | 'abandonValidation'): Engine => {
    const { drafts } = engine().engine;
    const step = drafts[transition] as (...args: unknown[]) => Promise<unknown>;
    const andPut = async (...args: unknown[]): Promise<unknown> => {
      const outcome = await step(...args);
      await putFiles(engine().engine, next());
      return outcome;
    };
    return { ...engine().engine, drafts: { ...drafts, [transition]: andPut } };
  };
  const overtaking = async () => (await engine().engine.drafts.get(project, id))?.draft;

  it('is what that validation came to, although another revision is put at once', async () => {
    const { revision } = await putFiles(engine().engine, fresh('told'));
    const request = { project, id, revision, actor };
    const ended = await validateDraft(overtaken('endValidation'), request);
    expect(ended.draft).toMatchObject({ state: 'passed', revision, artifact: ended.artifact, version: '1.0.0' });
    expect(await overtaking()).toMatchObject({ state: 'draft', version: '1.1.0' });

    await putFiles(engine().engine, fresh('told'));
    const stopped = await validateDraft(overtaken('abandonValidation'), request, {}, AbortSignal.abort());
    expect(stopped.draft).toMatchObject({ state: 'draft', revision });
    expect(await overtaking()).toMatchObject({ version: '1.1.0' });
  });

  it('is the report of a release, or that another revision is there by now', async () => {
    const { revision } = await putFiles(
      engine().engine,
      fresh('told released', { 'package.json': packageOf('1.0.9') }),
    );
    const request = { project, id, revision, actor };
    await validateDraft(engine().engine, request);
    await publishRelease(engine().engine, request);
    expect((await validateDraft(engine().engine, request)).report).toMatchObject({ revision, valid: true });
    const late = validateDraft(overtaken('beginValidation'), request).catch(codes);
    expect(await late).toBe('DRAFT_STALE');
  });
});

describe('what the host or the registry cannot do', () => {
  const dependent = {
    'package.json': JSON.stringify({
      name: id,
      version: '1.0.0',
      license: 'MIT',
      type: 'module',
      dependencies: { dep: '1.0.0' },
    }),
    'package-lock.json': JSON.stringify({
      lockfileVersion: 3,
      packages: {
        '': { dependencies: { dep: '1.0.0' } },
        'node_modules/dep': {
          version: '1.0.0',
          integrity: `sha512-${Buffer.alloc(64).toString('base64')}`,
        },
      },
    }),
  };
  const failing = (code: 'REGISTRY_UNAVAILABLE' | 'DEPENDENCY_INTEGRITY' | 'DEPENDENCY_NOT_FOUND'): Engine => ({
    ...engine().engine,
    packages: {
      ...engine().engine.packages,
      tarball: () => Promise.reject(new GloveboxError(code)),
    },
  });

  it('is no pass, no failure and is not remembered', async () => {
    for (const attempt of [1, 2]) {
      const { draft, states, report } = await validateFiles(
        failing('REGISTRY_UNAVAILABLE'),
        fresh('registry', dependent),
      );
      expect([attempt, draft.state, report.valid, states]).toEqual([
        attempt,
        'draft',
        false,
        {
          package: 'passed',
          manifest: 'passed',
          lockfile: 'unavailable',
          types: 'skipped',
          build: 'skipped',
          tests: 'skipped',
          fixtures: 'skipped',
        },
      ]);
      expect(told(report.findings)).toEqual(['lockfile REGISTRY_UNAVAILABLE ']);
    }
  });

  it.each(['DEPENDENCY_INTEGRITY', 'DEPENDENCY_NOT_FOUND'] as const)(
    'is told from what is wrong with a package: %s fails the lockfile at its entry',
    async (code) => {
      const { draft, states, report } = await validateFiles(failing(code), fresh(code, dependent));
      expect([draft.state, states.lockfile, states.types]).toEqual(['failed', 'failed', 'skipped']);
      expect(report.findings).toMatchObject([
        { check: 'lockfile', rule: code, path: '/packages/node_modules~1dep', line: 1, column: expect.any(Number) },
      ]);
    },
  );

  it('leaves a draft where it was when the host has no image', async () => {
    await putFiles(engine().engine, fresh('image'));
    const without: Engine = {
      ...engine().engine,
      images: { ...engine().engine.images, current: () => Promise.reject(new GloveboxError('IMAGE_MISSING')) },
    };
    await expect(validateDraft(without, { project, id, actor })).rejects.toMatchObject({ code: 'IMAGE_MISSING' });
    expect(await stateOf()).toBe('draft');
  });

  it('leaves a draft where it was when an artifact cannot be written', async () => {
    const files = fresh('full');
    const full: Engine = {
      ...engine().engine,
      artifacts: { ...engine().engine.artifacts, put: () => Promise.reject(new GloveboxError('DISK_FULL')) },
    };
    const { revision } = await putFiles(engine().engine, files);
    await expect(validateDraft(full, { project, id, revision, actor })).rejects.toMatchObject({ code: 'DISK_FULL' });
    expect(await stateOf()).toBe('draft');
    expect((await validateFiles(engine().engine, files)).draft.state).toBe('passed');
  });
});

describe('the bytes that are checked', () => {
  it('are those that were registered, whatever becomes of the directory, and are those of the artifact', async () => {
    const dir = await mkdtemp(join(tmpdir(), 'glovebox-changed-'));
    try {
      const files = fresh('registered');
      await writeTree(dir, files);
      const snapshot = await readSnapshotDir(dir);
      if (!snapshot.ok) throw new Error('refused');
      const { revision } = await putFiles(engine().engine, snapshot.files);
      await writeFile(join(dir, 'src/add.ts'), 'export const add = (): number => 666;\n');
      const onCheck = (): void => void writeFile(join(dir, 'src/index.ts'), 'export default 666;\n');
      const { draft, artifact } = await validateDraft(engine().engine, { project, id, revision, actor }, { onCheck });
      expect([draft.state, draft.revision]).toEqual(['passed', revision]);
      const { bundle, config } = await engine().engine.artifacts.load(artifact ?? '');
      expect(Buffer.from(bundle).toString()).not.toContain('666');
      expect(config.revision).toBe(revision);
    } finally {
      await rm(dir, { recursive: true });
    }
  });

  it('are held against the revision: a stored snapshot that was changed is refused, and the draft is a draft', async () => {
    const { revision } = await putFiles(engine().engine, fresh('tampered'));
    const other = await putDraft(engine().engine, { project, actor, files: new Map(changedId(fresh('tampered'))) });
    const record = await engine().engine.drafts.get(project, 'other-adder');
    const swapped: Engine = {
      ...engine().engine,
      blobs: { ...engine().engine.blobs, read: () => engine().engine.blobs.read(record?.snapshot ?? '') },
    };
    expect(other.kind).toBe('created');
    await expect(validateDraft(swapped, { project, id, revision, actor })).rejects.toMatchObject({
      code: 'BLOB_CORRUPTED',
    });
    expect(await stateOf()).toBe('draft');
  });

  it('must build to the same bundle twice: one that differs from what was built before fails', async () => {
    const files = fresh('twice');
    const lying: Engine = {
      ...engine().engine,
      bundles: {
        get: async () => ({
          bundle: Buffer.from('export default 1;'),
          sourceMap: Buffer.from('{}'),
          metafile: {},
          warnings: [],
        }),
        put: async () => undefined,
      },
    };
    const { states, report, draft } = await validateFiles(lying, files);
    expect([states.build, states.fixtures, draft.state]).toEqual(['failed', 'skipped', 'failed']);
    expect(told(report.findings)).toEqual(['build BUILD_NOT_REPRODUCIBLE ']);
    expect((await validateFiles(engine().engine, files)).states.build).toBe('passed');
  });
});

function changedId(files: ReadonlyMap<string, Uint8Array>): [string, Uint8Array][] {
  return [...files].map(([path, bytes]) =>
    path.endsWith('.json') && !path.startsWith('fixtures')
      ? [path, Buffer.from(Buffer.from(bytes).toString().replaceAll('"adder"', '"other-adder"'))]
      : [path, bytes],
  );
}

async function writeTree(dir: string, files: ReadonlyMap<string, Uint8Array>): Promise<void> {
  for (const [path, bytes] of files) {
    await mkdir(dirname(join(dir, path)), { recursive: true });
    await writeFile(join(dir, path), bytes);
  }
}
