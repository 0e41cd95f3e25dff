import type { Mutant } from './mutant.ts';

const receipt = (name: string): Mutant['test'] => ({ file: 'packages/artifact/src/verify-receipt.test.ts', name });
const audit = (name: string): Mutant['test'] => ({ file: 'packages/artifact/src/verify-audit.test.ts', name });
const artifact = (name: string): Mutant['test'] => ({ file: 'packages/artifact/src/verify-artifact.test.ts', name });
const loading = (name: string): Mutant['test'] => ({
  file: 'packages/artifact/src/load-artifact.test.ts',
  name: `an artifact ${name}`,
});

/** What is believed because somebody signed it, or because its digest is the one that was named. */
export const signatureMutants: readonly Mutant[] = [
  {
    file: 'packages/artifact/src/check-statement.ts',
    find: '    if (!verify(null, message, known.key, sig)) return failure(codes.signature);\n',
    replace: '',
    test: receipt('a receipt is refused with another payload'),
    why: 'a receipt could be written by anybody who knows the id of a key',
  },
  {
    file: 'packages/artifact/src/check-statement.ts',
    find: '    if (known === undefined) {',
    replace: '    if (known === undefined && envelope.signatures.length === 1) {',
    test: receipt('the keys that are pinned must cover every signature that is there, and each must hold'),
    why: 'whoever added a signature could have changed more',
  },
  {
    file: 'packages/artifact/src/check-statement.ts',
    find: "    if (canonicalJson(value) !== text) return invalid('the payload is not canonical JSON');\n",
    replace: '',
    test: receipt('a payload with a good signature is refused with a repeated key'),
    why: 'two readers could read one signed text in two ways',
  },
  {
    file: 'packages/artifact/src/check-statement.ts',
    find: '  if (retired !== undefined) {',
    replace: '  if (retired === undefined && signer === undefined) {',
    test: artifact('attestations must be by a pinned key, and a retired one is told as such'),
    why: 'a key that was retired because it leaked would go on counting',
  },
  {
    file: 'packages/artifact/src/envelope.ts',
    find: "  return bytes.toString('base64') === text ? bytes : undefined;",
    replace: '  return bytes;',
    test: receipt('a receipt is refused with base64 with bits past the end'),
    why: 'one receipt would have many digests, and so many names in the records',
  },
  {
    file: 'packages/artifact/src/verify-receipt.ts',
    find: 'canonicalJson(subject[0]) === canonicalJson(subjectOf(predicate))',
    replace: 'subject.length > 0',
    test: receipt('a payload with a good signature is refused with another bundle as its subject'),
    why: 'a receipt could be shown as that of another attempt',
  },
  {
    file: 'packages/artifact/src/check-attestations.ts',
    find: '  if (canonicalJson(subject[0]) !== canonicalJson(subjectOfArtifact(artifact))) {',
    replace: '  if (subject.length === 0) {',
    test: artifact('attestations may not be those of another artifact'),
    why: 'what one artifact passed would be taken for passed by another',
  },
  {
    file: 'packages/artifact/src/check-attestations.ts',
    find: "      if (!valid) return '/predicate/valid';\n",
    replace: '',
    test: artifact('attestations may not contradict the artifact: a report that failed'),
    why: 'an artifact that failed its checks would count as one that was checked',
  },
  {
    file: 'packages/artifact/src/load-artifact.ts',
    find: '  if (sha256Of(bytes) !== digest) throw corrupted(',
    replace: '  if (bytes.byteLength === 0) throw corrupted(',
    test: loading('is corrupted with a bit of blob 1 changed, with bytes more or less, and without it'),
    why: 'other bytes than those that were checked would run',
  },
  {
    file: 'packages/artifact/src/load-artifact.ts',
    find: "  if (actual !== revision) throw invalid('its source is not the revision that it names');\n",
    replace: '  if (actual.length === 0) throw invalid(revision);\n',
    test: loading('whose digests are right is invalid with another revision'),
    why: 'the source that is shown would be another one than that which was built',
  },
  {
    file: 'packages/artifact/src/verify-audit.ts',
    find: "    if (hashOf(entry) !== entry.hash) return broken(seq, 'does not have the hash that it names');\n",
    replace: '',
    test: audit('an audit chain is broken with an actor that was changed'),
    why: 'history could be rewritten without a trace',
  },
  {
    file: 'packages/artifact/src/verify-audit.ts',
    find: "    if (entry.previous !== previous) return broken(seq, 'does not name the hash of the entry before it');\n",
    replace: '',
    test: audit('an audit chain is broken with an entry that was written anew, with its hash'),
    why: 'an entry could be replaced by another one with a hash of its own',
  },
  {
    file: 'packages/artifact/src/verify-audit.ts',
    find: "      if (hash !== previous) return broken(seq, 'is not the one that was signed');\n",
    replace: '',
    test: audit('an audit chain is broken with all of it written anew'),
    why: 'whoever writes all of the chain anew would not be found out by what was signed',
  },
];
