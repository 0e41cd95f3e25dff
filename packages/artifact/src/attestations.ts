import {
  type ArtifactConfig,
  builderIdPrefix,
  type Json,
  type PredicateName,
  type ProvenancePredicate,
  predicateTypes,
  provenanceBuildType,
  type ReleasePredicate,
  type Report,
  type Sbom,
  type Statement,
  statementType,
} from '@glovebox/contract';
import { packageUrl, sha512HexOf } from './package-url.ts';

/** What an attestation is about. */
export interface AttestedArtifact {
  digest: string;
  config: ArtifactConfig;
}

/** How a validation came to its artifact. */
export interface BuildCircumstances {
  instance: string;
  project: string;
  /** The runtime image that fixtures ran in. */
  image: string;
  /** Id of the validation. */
  invocationId: string;
  startedAtMs: number;
  finishedAtMs: number;
  /** The principal that asked for it. */
  creator: string;
  correlationId: string;
  /** Since when the registry says it has each locked package, by place in the tree; where it was asked. */
  publishedAtMs?: ReadonlyMap<string, number>;
}

export function provenanceStatement(artifact: AttestedArtifact, build: BuildCircumstances): Statement {
  const { id, version, revision, toolchain, dependencies } = artifact.config;
  const predicate: ProvenancePredicate = {
    buildDefinition: {
      buildType: provenanceBuildType,
      externalParameters: { project: build.project, id, version, revision },
      internalParameters: { toolchain, image: build.image },
      resolvedDependencies: dependencies.map(({ path, name, version, integrity }) => {
        const publishedAtMs = build.publishedAtMs?.get(path);
        return {
          name: path,
          uri: packageUrl(name, version),
          digest: { sha512: sha512HexOf(integrity) },
          ...(publishedAtMs === undefined
            ? {}
            : { annotations: { publishedOn: new Date(publishedAtMs).toISOString() } }),
        };
      }),
    },
    runDetails: {
      builder: { id: `${builderIdPrefix}${build.instance}` },
      metadata: {
        invocationId: build.invocationId,
        startedOn: new Date(build.startedAtMs).toISOString(),
        finishedOn: new Date(build.finishedAtMs).toISOString(),
        glovebox_creator: build.creator,
        glovebox_correlationId: build.correlationId,
      },
    },
  };
  return about(artifact, 'provenance', predicate as unknown as Json);
}

/** @param report of the validation that passed. */
export function reportStatement(artifact: AttestedArtifact, report: Report): Statement {
  return about(artifact, 'report', report as unknown as Json);
}

/** @param sbom see composeSbom. */
export function sbomStatement(artifact: AttestedArtifact, sbom: Sbom): Statement {
  return about(artifact, 'sbom', sbom as unknown as Json);
}

export function releaseStatement(artifact: AttestedArtifact, release: Omit<ReleasePredicate, 'digest'>): Statement {
  return about(artifact, 'release', { ...release, digest: artifact.digest });
}

/** The subject of every attestation: the artifact's manifest, under the name of its node. */
export function subjectOfArtifact({ digest, config }: AttestedArtifact): Statement['subject'][number] {
  return { name: `${config.id}@${config.version}`, digest: { sha256: digest.slice('sha256:'.length) } };
}

function about(artifact: AttestedArtifact, kind: PredicateName, predicate: Json): Statement {
  return {
    _type: statementType,
    subject: [subjectOfArtifact(artifact)],
    predicateType: predicateTypes[kind],
    predicate,
  };
}
