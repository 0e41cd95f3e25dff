import { isDeepStrictEqual } from 'node:util';
import { type AttestedArtifact, checkAttestations, pinKeys } from '@glovebox/artifact';
import {
  GloveboxError,
  type Json,
  type PredicateName,
  type ProvenancePredicate,
  predicateTypes,
  type Report,
  type Statement,
} from '@glovebox/contract';
import type { Engine } from '../engine.ts';

/**
 * Those of the statements that an artifact lacks: all, where it is not there, is damaged, or has one that does not hold. One
 * that says the same, signed with the instance's current key, is not needed twice, whenever and for whomever it was made:
 * else every validation would add to what every reader has to check.
 */
export async function missingStatements(
  { artifacts, signer, keys }: Pick<Engine, 'artifacts' | 'signer' | 'keys'>,
  artifact: AttestedArtifact,
  statements: readonly Statement[],
): Promise<readonly Statement[]> {
  let envelopeTexts: string[];
  try {
    await artifacts.load(artifact.digest);
    envelopeTexts = await artifacts.attestations(artifact.digest);
  } catch (error) {
    if (error instanceof GloveboxError) return statements;
    throw error;
  }
  const envelopes = envelopeTexts.map((text) => Buffer.from(text));
  const checked = checkAttestations(artifact, envelopes, pinKeys({ keys }));
  if (!checked.ok) return statements;
  // What a retired key signed counts here, but not for those who were told of the rotation.
  const stated = checked.attestations
    .filter(({ keyId }) => keyId === signer.keyId)
    .map(({ kind, predicate }) => decisivePart(predicateTypes[kind], predicate));
  return statements.filter(({ predicateType, predicate }) => {
    const part = decisivePart(predicateType, asSigned(predicate));
    return !stated.some((other) => isDeepStrictEqual(other, part));
  });
}

/** What it says, but for who asked, when, and how long it took. */
function decisivePart(predicateType: Statement['predicateType'], predicate: unknown): unknown {
  const kinds = Object.keys(predicateTypes) as PredicateName[];
  switch (kinds.find((kind) => predicateTypes[kind] === predicateType)) {
    case 'provenance': {
      const { buildDefinition, runDetails } = predicate as ProvenancePredicate;
      return [predicateType, buildDefinition, runDetails.builder];
    }
    case 'report': {
      const { checks, ...report } = predicate as Report;
      return [predicateType, report, checks.map(({ durationMs: _, cached: __, ...check }) => check)];
    }
    default:
      return [predicateType, predicate];
  }
}

/** As it reads once it is signed: JSON, with U+FFFD for halves of surrogate pairs. */
function asSigned(predicate: Json): unknown {
  return JSON.parse(JSON.stringify(predicate), (_key, value: unknown) =>
    typeof value === 'string' ? value.toWellFormed() : value,
  );
}
