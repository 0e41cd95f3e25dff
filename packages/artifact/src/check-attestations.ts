import {
  type ErrorData,
  type PredicateName,
  type ProvenancePredicate,
  predicateSchemas,
  predicateTypes,
  type ReleasePredicate,
  type Report,
  type Sbom,
  type Statement,
  statementSchema,
} from '@glovebox/contract';
import { type AttestedArtifact, provenanceStatement, subjectOfArtifact } from './attestations.ts';
import { canonicalJson } from './canonical.ts';
import { checkStatement, failure, type PinnedKeys, type StatementKind } from './check-statement.ts';
import { componentOf, rootRef } from './sbom.ts';

/** What every artifact must have. */
const required = ['provenance', 'report', 'sbom'] as const satisfies PredicateName[];

export type VerifiedAttestation = {
  /** The pinned key that signed. */
  keyId: string;
  /** sha256 of the envelope. */
  digest: string;
} & AttestationContent;

type AttestationContent =
  | { kind: 'provenance'; predicate: ProvenancePredicate }
  | { kind: 'report'; predicate: Report }
  | { kind: 'sbom'; predicate: Sbom }
  | { kind: 'release'; predicate: ReleasePredicate };

/**
 * Whether an artifact has every attestation that it must have, each signed by a pinned key, about this artifact, and saying
 * nothing that the artifact contradicts. One that does not hold, or is by an unknown key, fails all: whoever added it
 * could have changed more. What a retired key signed counts as if it were not there, and is told when something is missing.
 *
 * @param envelopes of DSSE, as bytes of anyone.
 * @returns in their order; or `ATTESTATION_SIGNATURE`, `ATTESTATION_KEY_UNKNOWN`, `ATTESTATION_INVALID`, `KEY_RETIRED`,
 *   `ARTIFACT_UNSIGNED`.
 */
export function checkAttestations(
  artifact: AttestedArtifact,
  envelopes: readonly Uint8Array[],
  pinned: PinnedKeys,
): { ok: true; attestations: VerifiedAttestation[] } | { ok: false; error: ErrorData } {
  const check = startCheck(artifact, pinned);
  for (const envelope of envelopes) {
    const error = check.add(envelope);
    if (error !== undefined) return { ok: false, error };
  }
  return check.end();
}

/** A check of attestations that come one at a time, with the same outcome as checkAttestations. */
interface AttestationCheck {
  /** @returns why all of them fail: then there is no need for the next. */
  add(envelope: Uint8Array): ErrorData | undefined;
  end(): ReturnType<typeof checkAttestations>;
}

export function startCheck(artifact: AttestedArtifact, pinned: PinnedKeys): AttestationCheck {
  const kind = attestationKind(artifact);
  const attestations: VerifiedAttestation[] = [];
  let retired: ErrorData | undefined;
  return {
    add(envelope) {
      const checked = checkStatement(envelope, pinned, kind);
      if (checked.ok) {
        attestations.push({ keyId: checked.keyId, digest: checked.digest, ...checked.statement.content });
        return undefined;
      }
      if (checked.error.code !== 'KEY_RETIRED') return checked.error;
      retired ??= checked.error;
      return undefined;
    },
    end() {
      const missing = required.filter((name) => !attestations.some((attestation) => attestation.kind === name));
      if (missing.length === 0) return { ok: true, attestations };
      if (retired !== undefined) return { ok: false, error: retired };
      return failure('ARTIFACT_UNSIGNED', {
        message: `The artifact ${artifact.digest} has no attestation of its ${missing.join(', ')}.`,
        details: { missing },
      });
    },
  };
}

interface Attestation {
  subject: Statement['subject'];
  content: AttestationContent;
}

function attestationKind(artifact: AttestedArtifact): StatementKind<Attestation> {
  return {
    what: 'attestation',
    codes: {
      unreadable: 'ATTESTATION_INVALID',
      keyUnknown: 'ATTESTATION_KEY_UNKNOWN',
      signature: 'ATTESTATION_SIGNATURE',
      invalid: 'ATTESTATION_INVALID',
    },
    schema: { safeParse: parseAttestation },
    fault: (attestation) => faultOf(attestation, artifact),
  };
}

function parseAttestation(value: unknown): ReturnType<StatementKind<Attestation>['schema']['safeParse']> {
  const statement = statementSchema.safeParse(value);
  if (!statement.success) return statement;
  const { subject, predicateType, predicate } = statement.data;
  const kind = (Object.keys(predicateTypes) as PredicateName[]).find((name) => predicateTypes[name] === predicateType);
  if (kind === undefined) {
    return { success: false, error: { issues: [{ message: 'it is of an unknown type', path: ['predicateType'] }] } };
  }
  const checked = predicateSchemas[kind].safeParse(predicate);
  if (checked.success) {
    return { success: true, data: { subject, content: { kind, predicate: checked.data } as AttestationContent } };
  }
  const issues = checked.error.issues.map(({ message, path }) => ({ message, path: ['predicate', ...path] }));
  return { success: false, error: { issues } };
}

function faultOf(
  { subject, content }: Attestation,
  artifact: AttestedArtifact,
): { what: string; path: string } | undefined {
  if (canonicalJson(subject[0]) !== canonicalJson(subjectOfArtifact(artifact))) {
    return { what: 'it is about another artifact', path: '/subject/0' };
  }
  const path = contradiction(content, artifact);
  return path === undefined ? undefined : { what: `it contradicts the artifact at "${path}"`, path };
}

/** The JSON Pointer of what a predicate says otherwise than the artifact. */
function contradiction(content: AttestationContent, artifact: AttestedArtifact): string | undefined {
  const { config, digest } = artifact;
  const differs = (a: unknown, b: unknown): boolean => canonicalJson(a) !== canonicalJson(b ?? null);
  switch (content.kind) {
    case 'report': {
      const { valid, id, version, revision } = content.predicate;
      if (!valid) return '/predicate/valid';
      return differs([id, version, revision], [config.id, config.version, config.revision]) ? '/predicate' : undefined;
    }
    case 'provenance': {
      const { project } = content.predicate.buildDefinition.externalParameters;
      const { image } = content.predicate.buildDefinition.internalParameters;
      const build = { ...anyBuild, project, image, publishedAtMs: publishTimes(content.predicate) };
      const expected = provenanceStatement(artifact, build).predicate as unknown as ProvenancePredicate;
      return differs(content.predicate.buildDefinition, expected.buildDefinition)
        ? '/predicate/buildDefinition'
        : undefined;
    }
    case 'sbom': {
      const { metadata, components } = content.predicate;
      if (metadata.component['bom-ref'] !== rootRef(config)) return '/predicate/metadata/component';
      const at = components.findIndex((component) => differs(component, componentOf(component['bom-ref'], config)));
      return at === -1 ? undefined : `/predicate/components/${at}`;
    }
    case 'release': {
      const { predicate } = content;
      if (predicate.digest !== digest) return '/predicate/digest';
      if (predicate.permissions !== config.permissionsDigest) return '/predicate/permissions';
      return predicate.ref.endsWith(`/${config.id}@${config.version}`) ? undefined : '/predicate/ref';
    }
  }
}

/** What the artifact knows nothing of, and so cannot contradict. */
const publishTimes = ({ buildDefinition }: ProvenancePredicate): Map<string, number> =>
  new Map(
    buildDefinition.resolvedDependencies.flatMap(({ name, annotations }) =>
      annotations === undefined ? [] : [[name, Date.parse(annotations.publishedOn)]],
    ),
  );

/** What the build definition does not depend on. */
const anyBuild = { instance: '', invocationId: '', startedAtMs: 0, finishedAtMs: 0, creator: '', correlationId: '' };
