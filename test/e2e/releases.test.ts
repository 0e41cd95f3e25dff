import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { GloveboxError, refNameAnnotation } from '@glovebox/contract';
import { deprecateRelease, publishRelease, revokeRelease, showRelease, verifyRun } from '@glovebox/engine';
import { beforeEach, describe, expect, it } from 'vitest';
import { beginValidation, judgeDraft } from '../support/release-records.ts';
import { author, passDraft, release, runReference } from '../support/releases.ts';
import { tamper } from '../support/tamper.ts';
import { useEngine } from '../support/use-engine.ts';

const cells = useEngine();

/** An id of its own for each test. */
let id: string;
let ids = 0;
beforeEach(() => {
  id = `node-${++ids}`;
});
/** A node that returns a value. */
const giving = (value: unknown) => ({ id, body: `return ${JSON.stringify(value)}` });
const keyOf = (): string => readFileSync(join(cells().dataDir, 'keys', 'signing.pub.pem'), 'utf8');

describe('a run by reference', () => {
  it('runs what was released, with the input and config that it is given, and says so in its record and receipt', async () => {
    const { engine } = cells();
    const published = await release(cells(), {
      id,
      body: `ctx.log.info('hello'); return [ctx.input.n, ctx.config.m]`,
      manifest: { input: { type: 'object' }, resources: { memory: '96MiB' } },
    });
    const result = await runReference(engine, id, { inputText: '{"n":1}', configText: '{"m":2}' });
    expect(result).toMatchObject({
      state: 'SUCCEEDED',
      output: [1, 2],
      release: published,
      node: { id, version: '1.0.0', revision: published.revision },
      limits: { memoryBytes: 96 * 1024 * 1024 },
    });
    const stored = await engine.store.get('default', result.run);
    const name = { ref: published.ref, digest: published.digest };
    expect(stored?.run).toMatchObject({ mode: 'release', release: name, inputText: '{"n":1}' });
    const { predicate } = (await verifyRun(engine, 'default', result.run, [keyOf()])).statement;
    expect(predicate).toMatchObject({
      mode: 'release',
      node: { id, version: '1.0.0', release: name },
      observed: { image: published.image, permissions: published.permissions },
    });
  });

  it('still runs v1 once v2 is published, by version and by digest; without either it runs v2', async () => {
    const { engine } = cells();
    const one = await release(cells(), giving(1));
    const running = runReference(engine, id);
    const two = await release(cells(), giving(2), { version: '2.0.0' });
    expect((await running).output).toBe(1);
    const outputs = [];
    for (const reference of [id, `${id}@1.0.0`, `${id}@${one.digest}`, `default/${id}@2.0.0`, `${id}@${two.digest}`])
      outputs.push((await runReference(engine, reference)).output);
    expect(outputs).toEqual([2, 1, 1, 2, 2]);
  });

  it('is refused once revoked, with the reason and before anything boots; other versions run, and its records stay', async () => {
    const { engine, boots } = cells();
    await release(cells(), giving(1));
    await release(cells(), giving(2), { version: '2.0.0' });
    const { run } = await runReference(engine, `${id}@2.0.0`);
    await revokeRelease(engine, {
      project: 'default',
      reference: `${id}@2.0.0`,
      reason: 'It loses rows.',
      actor: author,
    });
    const booted = boots.length;
    await expect(runReference(engine, `${id}@2.0.0`)).rejects.toMatchObject({
      code: 'RELEASE_REVOKED',
      message: expect.stringContaining('It loses rows.'),
      details: { ref: `default/${id}@2.0.0`, reason: 'It loses rows.' },
    });
    expect(boots.length).toBe(booted);
    expect((await runReference(engine, id)).output).toBe(1);
    await expect(verifyRun(engine, 'default', run, [keyOf()])).resolves.toBeDefined();
    const shown = await showRelease(engine, { project: 'default', reference: `${id}@2.0.0` });
    expect(shown).toMatchObject({ release: { state: 'revoked', reason: 'It loses rows.' }, problem: null });
    await revokeRelease(engine, { project: 'default', reference: `${id}@1.0.0`, reason: 'So does it.', actor: author });
    await expect(runReference(engine, id)).rejects.toMatchObject({ code: 'RELEASE_REVOKED' });
  });

  it('runs what is deprecated, and says so', async () => {
    const { engine } = cells();
    await release(cells(), giving(1));
    const quiet = await runReference(engine, id);
    expect(quiet.release.state).toBe('active');
    await deprecateRelease(engine, {
      project: 'default',
      reference: `${id}@1.0.0`,
      reason: 'Use other.',
      actor: author,
    });
    expect(await runReference(engine, id)).toMatchObject({
      state: 'SUCCEEDED',
      release: { state: 'deprecated', reason: 'Use other.' },
    });
  });

  it('of the same id in two projects: each runs its own, and neither sees the other', async () => {
    const { engine } = cells();
    const [left, right] = [`left-${id}`, `right-${id}`];
    await release(cells(), giving('left'), { project: left });
    await release(cells(), giving('right'), { project: right, version: '1.1.0' });
    expect((await runReference(engine, id, { project: left })).output).toBe('left');
    expect((await runReference(engine, id, { project: right })).output).toBe('right');
    for (const [project, reference] of [
      [left, `${id}@1.1.0`],
      [right, `${id}@1.0.0`],
      [left, `${right}/${id}`],
      ['default', id],
    ] as const)
      await expect(runReference(engine, reference, { project })).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });

  it('of the same content in two projects: one artifact, two releases, and revoking one leaves the other', async () => {
    const { engine } = cells();
    const [left, right] = [`left-${id}`, `right-${id}`];
    const [one, two] = [
      await release(cells(), giving(1), { project: left }),
      await release(cells(), giving(1), { project: right }),
    ];
    expect(two.digest).toBe(one.digest);
    await revokeRelease(engine, { project: left, reference: `${id}@1.0.0`, reason: 'Not here', actor: author });
    await expect(runReference(engine, id, { project: left })).rejects.toMatchObject({ code: 'RELEASE_REVOKED' });
    expect((await runReference(engine, id, { project: right })).output).toBe(1);
  });

  it('is refused for input, config and references that are no good, before anything is recorded or boots', async () => {
    const { engine, boots } = cells();
    const manifest = { input: { type: 'object', required: ['n'] }, config: { additionalProperties: false } };
    await release(cells(), { id, body: 'return 1', manifest });
    const booted = boots.length;
    for (const [code, reference, texts] of [
      ['INPUT_NOT_JSON', id, { inputText: '{' }],
      ['INPUT_INVALID', id, {}],
      ['CONFIG_VALUE_INVALID', id, { inputText: '{"n":1}', configText: '{"m":1}' }],
      ['REFERENCE_INVALID', `${id}@latest`, {}],
      ['NOT_FOUND', `${id}@9.9.9`, {}],
    ] as const)
      await expect(runReference(engine, reference, texts)).rejects.toMatchObject({ code });
    expect(boots.length).toBe(booted);
    expect(await engine.store.list({ project: 'default', limit: 10, node: id })).toEqual([]);
    expect((await runReference(engine, id, { inputText: '{"n":1}' })).output).toBe(1);
  });
});

describe('a receipt of a release', () => {
  it.each([
    ['another release in the record', `UPDATE runs SET release_ref = release_ref || '1'`, 'release'],
    ['another artifact in the record', `UPDATE runs SET release_digest = 'sha256:' || hex(zeroblob(32))`, 'release'],
    ['a trial in the record', `UPDATE runs SET mode = 'trial', release_ref = NULL, release_digest = NULL`, 'release'],
  ])('does not verify with %s', async (_, change, part) => {
    const { engine } = cells();
    await release(cells(), giving(1));
    const { run } = await runReference(engine, id);
    await expect(verifyRun(engine, 'default', run, [keyOf()])).resolves.toBeDefined();
    tamper(cells().dataDir, `${change} WHERE id = '${run}'`);
    await expect(verifyRun(engine, 'default', run, [keyOf()])).rejects.toMatchObject({
      code: 'RECEIPT_MISMATCH',
      details: { differs: [part] },
    });
  });
});

describe('what is shown of a release', () => {
  it('is what its artifact says, in words and as data, with who vouches for it', async () => {
    const { engine } = cells();
    const published = await release(cells(), {
      id,
      body: 'return 1',
      manifest: { title: 'Gives one', output: { const: 1 }, resources: { timeout: '3s' } },
    });
    const { release: shown, content, problem } = await showRelease(engine, { project: 'default', reference: id });
    expect([shown, problem]).toEqual([published, null]);
    expect(content).toMatchObject({
      name: id,
      title: 'Gives one',
      license: 'Apache-2.0',
      output: { const: 1 },
      dependencies: [],
      toolchain: ['node@test'],
      permissions: { digest: published.permissions, json: { limits: { timeoutMs: 3000 } } },
      report: { checks: [], warnings: 0, notices: 0 },
    });
    expect(content?.permissions.words).toContain('Reaches no host.');
    const { keyId } = engine.signer;
    expect(content?.attestations.map((attestation) => [attestation.kind, attestation.keyId]).sort()).toEqual(
      ['provenance', 'release', 'report', 'sbom'].map((kind) => [kind, keyId]),
    );
  });
});

describe('publishing', () => {
  const publish = (request: { revision?: string } = {}) =>
    publishRelease(cells().engine, { project: 'default', id, actor: author, ...request });

  it('is refused for a draft that was never validated, that failed, or that was changed since', async () => {
    const { engine } = cells();
    await expect(publish()).rejects.toMatchObject({ code: 'NOT_FOUND' });
    const passed = await passDraft(cells(), giving(1));
    const subject = `default/${id}@1.1.0`;
    const event = { atMs: 1, actor: author, project: 'default', subject, details: {}, action: 'draft.put' } as const;
    const revision = passed.revision.replace(/.$/, (digit) => (digit === '0' ? '1' : '0'));
    const next = { project: 'default', id, revision, version: '1.1.0', title: 't', snapshot: revision };
    await engine.drafts.put(next, event);
    await expect(publish()).rejects.toMatchObject({ code: 'NOT_VALIDATED' });
    await expect(publish({ revision: passed.revision })).rejects.toMatchObject({ code: 'DRAFT_STALE' });
    await judgeDraft(engine, { id, version: '1.2.0' }, false);
    await expect(publish()).rejects.toMatchObject({ code: 'NOT_VALIDATED' });
    await beginValidation(engine, { id, version: '1.2.0' });
    await expect(publish()).rejects.toMatchObject({ code: 'DRAFT_BUSY' });
    await engine.drafts.recoverValidations(() => true, 1);
    expect(await engine.releases.list({ project: 'default', id, limit: 1 })).toEqual([]);
    await passDraft(cells(), giving(1));
    expect(await publish({ revision: passed.revision })).toMatchObject({ created: true });
  });

  it('twice is one release, and the second time nothing is written', async () => {
    const { engine, dataDir } = cells();
    await passDraft(cells(), giving(1));
    const first = await publish();
    const [attestations, head] = [await engine.artifacts.attestations(first.release.digest), await engine.audit.head()];
    const index = statSync(join(dataDir, 'artifacts', 'index.json')).mtimeMs;
    const second = await publish();
    expect(statSync(join(dataDir, 'artifacts', 'index.json')).mtimeMs).toBe(index);
    expect([first.created, second.created]).toEqual([true, false]);
    expect(second.release).toEqual(first.release);
    expect(await engine.artifacts.attestations(first.release.digest)).toEqual(attestations);
    expect(await engine.audit.head()).toEqual(head);
  });

  it('names the artifact in the layout once it is released, by the next try too, and never what is not', async () => {
    const { engine, dataDir } = cells();
    const { artifact } = await passDraft(cells(), giving(1));
    const named = (): unknown[] =>
      JSON.parse(readFileSync(join(dataDir, 'artifacts', 'index.json'), 'utf8')).manifests.filter(
        (descriptor: { annotations?: { [name: string]: string } }) =>
          descriptor.annotations?.[refNameAnnotation] === `default/${id}@1.0.0`,
      );
    const request = { project: 'default', id, actor: author };
    const stale = { ...engine, releases: { ...engine.releases, publish: async () => ({ kind: 'stale' }) as const } };
    await expect(publishRelease(stale, request)).rejects.toMatchObject({ code: 'DRAFT_STALE' });
    expect(named()).toEqual([]);
    const full = () => Promise.reject(new GloveboxError('DISK_FULL'));
    const nameless = { ...engine, artifacts: { ...engine.artifacts, name: full } };
    expect(await publishRelease(nameless, request)).toMatchObject({ created: true });
    expect(named()).toEqual([]);
    expect(await engine.releases.list({ project: 'default', id, limit: 9 })).toMatchObject([{ digest: artifact }]);
    expect(await publish()).toMatchObject({ created: false });
    expect(named()).toMatchObject([{ digest: artifact }]);
  });

  it('at once by several makes one release', async () => {
    await passDraft(cells(), giving(1));
    const all = await Promise.all([publish(), publish(), publish()]);
    expect(all.map(({ created }) => created).sort()).toEqual([false, false, true]);
    expect((await runReference(cells().engine, id)).output).toBe(1);
  });

  it('of another content under a released version is refused, and the release stays what it was', async () => {
    const { engine } = cells();
    const one = await release(cells(), giving(1));
    await expect(passDraft(cells(), giving(2))).rejects.toThrow();
    expect(await publish()).toEqual({ release: one, created: false });
    expect((await runReference(engine, id)).output).toBe(1);
  });

  it('of the same source made by other tools is another content, and refused under a released version', async () => {
    const { engine } = cells();
    const one = await release(cells(), giving(1));
    await passDraft(cells(), giving(2), { version: '2.0.0' });
    const again = await passDraft(cells(), giving(1), { toolchain: ['node@newer'] });
    expect([again.revision, again.artifact]).toEqual([one.revision, expect.not.stringMatching(one.digest)]);
    await expect(publish()).rejects.toMatchObject({
      code: 'VERSION_EXISTS',
      details: { ref: one.ref, digest: one.digest },
    });
    expect(await engine.releases.list({ project: 'default', id, limit: 9 })).toEqual([one]);
    expect((await runReference(engine, id)).output).toBe(1);
  });

  it('of what is revoked is refused', async () => {
    const { engine } = cells();
    await release(cells(), giving(1));
    await revokeRelease(engine, { project: 'default', reference: `${id}@1.0.0`, reason: 'Bad', actor: author });
    await expect(publish()).rejects.toMatchObject({ code: 'RELEASE_REVOKED' });
  });
});
