/**
 * Every error code of the product, once. `docs/errors.md` is generated from this table.
 *
 * `exit` is the exit status of the CLI when the code ends a command, `kind` tells what a caller can do: see exitMeanings and
 * kindMeanings.
 */
export interface ErrorEntry {
  exit: 1 | 2 | 3 | 4 | 70 | 130;
  kind: 'user' | 'host' | 'retry' | 'final' | 'defect';
  summary: string;
  hint: string;
}

const entry = (exit: ErrorEntry['exit'], kind: ErrorEntry['kind'], summary: string, hint: string): ErrorEntry => ({
  exit,
  kind,
  summary,
  hint,
});

export const errorCatalogue = {
  // Command line and configuration
  USAGE: entry(2, 'user', 'The command line is not valid.', 'Run the command with --help.'),
  INPUT_UNREADABLE: entry(
    2,
    'user',
    'The input could not be read.',
    'Pass JSON text, or @file with a readable JSON file.',
  ),
  INPUT_NOT_JSON: entry(2, 'user', 'The input is not valid JSON.', 'Check the input with a JSON parser.'),
  CONFIG_INVALID: entry(
    2,
    'user',
    'The configuration file is not valid.',
    'Run glovebox init in an empty data directory to see a commented one.',
  ),
  ALREADY_EXISTS: entry(
    2,
    'user',
    'The target is already there; nothing was changed.',
    'Choose another name, or remove it first.',
  ),
  TARGET_UNUSABLE: entry(
    2,
    'user',
    'The target cannot be written; nothing was changed.',
    'Check that its directory is there and may be written, or choose another.',
  ),
  NOT_FOUND: entry(2, 'user', 'There is no such thing.', 'List what is there and check the spelling.'),
  REQUEST_INVALID: entry(
    2,
    'user',
    'The request is not one of this API.',
    'See the place; fields and values are those of the route.',
  ),
  REQUEST_TOO_LARGE: entry(2, 'user', 'The request is over the limit of its route.', 'Send less at a time.'),
  RESPONSE_INVALID: entry(
    1,
    'retry',
    'The answer of the server is not one of this API, or broke off.',
    'Check the address and that both sides have one version, then try again.',
  ),
  ROLE_MISSING: entry(4, 'final', 'The caller lacks the role that this needs.', 'Ask an admin for the role.'),
  INTERRUPTED: entry(130, 'retry', 'Interrupted.', 'Run the command again.'),
  INTERNAL: entry(70, 'defect', 'An unexpected condition: a defect of Glovebox.', 'Report it with the text above.'),

  // Setup of a clone
  SETUP_CONSENT_NEEDED: entry(
    2,
    'user',
    'Packages of the system are missing and nobody agreed to install them; nothing was installed.',
    'Run the command with --yes.',
  ),
  SETUP_INSTALL_FAILED: entry(
    3,
    'host',
    'Something that is needed could not be installed.',
    'See what npm or apt-get says, and check the network.',
  ),
  SETUP_BUSY: entry(
    3,
    'retry',
    'Another setup holds the clone or the package manager for too long.',
    'See what that process is doing, then try again.',
  ),

  // Data directory and store
  DATA_DIR_UNUSABLE: entry(
    3,
    'host',
    'The data directory cannot be used.',
    'Check its owner, mode (0700) and free space, or set --data-dir.',
  ),
  DISK_FULL: entry(3, 'host', 'The disk is full.', 'Free some space; glovebox left nothing half-written.'),
  STORE_CORRUPTED: entry(3, 'host', 'The database is damaged.', 'Restore a backup of glovebox.db.'),
  STORE_TOO_NEW: entry(3, 'host', 'The database was written by a newer Glovebox.', 'Use the newer version.'),
  STORE_BUSY: entry(1, 'retry', 'Another process holds the database.', 'Try again.'),
  BLOB_CORRUPTED: entry(
    1,
    'final',
    'A stored file does not match its digest.',
    'Restore it from a backup; the record itself is intact.',
  ),

  // Host
  HOST_UNSUPPORTED: entry(3, 'host', 'This host lacks something that a cell needs.', 'Run glovebox doctor.'),
  RUNTIME_MISSING: entry(3, 'host', 'No OCI runtime was found.', 'Install crun (or runc): apt-get install crun.'),
  RUNTIME_BROKEN: entry(3, 'host', 'The OCI runtime failed.', 'Run glovebox doctor.'),
  USERNS_UNAVAILABLE: entry(3, 'host', 'User namespaces are not available.', 'Set user.max_user_namespaces above 0.'),
  CGROUP_UNAVAILABLE: entry(
    3,
    'host',
    'No cgroup hierarchy with memory, cpu and pids can be written.',
    'Run as root, or delegate a cgroup.',
  ),
  CLASS_UNAVAILABLE: entry(
    3,
    'host',
    'This driver cannot make cells of this isolation class here.',
    'Run glovebox doctor: it tells for each class what is missing.',
  ),
  ENGINE_UNREACHABLE: entry(
    3,
    'host',
    'The container engine cannot be reached, or broke off.',
    'Start the engine, and check the address and who may use it.',
  ),
  ENGINE_REFUSED: entry(
    3,
    'host',
    'The container engine refused, or does not do what it was told.',
    'Run glovebox doctor: it tells what this engine ignores.',
  ),
  CELLD_UNREACHABLE: entry(
    3,
    'host',
    'celld cannot be reached, or broke off.',
    'Start celld, and check its socket and who may use it.',
  ),
  CELLD_PROTOCOL: entry(
    4,
    'final',
    'What was said to celld, or by it, is not of its protocol.',
    'Use celld and its driver of the same release.',
  ),
  CELLD_FULL: entry(
    3,
    'retry',
    'celld has as many cells as it may have.',
    'Wait for cells to end, or start celld with more --max-cells or --max-memory.',
  ),
  PLACE_UNSAFE: entry(
    3,
    'host',
    'A place that others could change cannot be relied on.',
    'Let it belong to root or to the user that celld runs as, writable by nobody else.',
  ),
  PRIVILEGE_MISSING: entry(3, 'host', 'Cells need root on this host.', 'Run as root.'),
  UID_RANGE_EXHAUSTED: entry(
    3,
    'retry',
    'Every host uid for cells is in use.',
    'Wait for cells to end, or run glovebox doctor.',
  ),
  PLAN_REFUSED: entry(
    4,
    'final',
    'The plan of a cell is not one that the driver makes.',
    'Stay within the ceilings of docs/security-model.md.',
  ),
  IMAGE_MISSING: entry(3, 'host', 'The image is not there.', 'Run glovebox image build.'),
  IMAGE_CORRUPTED: entry(3, 'host', 'The image on disk differs from its digest.', 'Run glovebox image build --force.'),
  IMAGE_BUILD_FAILED: entry(3, 'host', 'The image could not be built.', 'Run glovebox doctor.'),

  // Node package and manifest
  PACKAGE_INVALID: entry(2, 'user', 'The node package is not valid.', 'See the findings.'),
  PACKAGE_FILE_MISSING: entry(
    2,
    'user',
    'A required file of the node package is missing.',
    'Run glovebox node new in an empty directory to see a complete one.',
  ),
  PACKAGE_FILE_REFUSED: entry(
    2,
    'user',
    'The node package holds something that is not a plain file or directory.',
    'Remove links, devices, sockets and pipes.',
  ),
  PACKAGE_NAME_REFUSED: entry(
    2,
    'user',
    'A file name in the node package cannot be used.',
    'Use UTF-8 names of at most 255 bytes that do not differ in case alone.',
  ),
  PACKAGE_TOO_LARGE: entry(
    2,
    'user',
    'The node package is over a size limit.',
    'At most 256 files, 2 MiB each, 32 MiB in all.',
  ),
  PACKAGE_JSON_INVALID: entry(
    2,
    'user',
    'package.json is not valid.',
    'It needs name, version and license; dependencies are exact or ranges of the registry.',
  ),
  MANIFEST_INVALID: entry(2, 'user', 'node.json is not valid.', 'See docs/stages/author.md for every field.'),
  LOCKFILE_MISSING: entry(
    2,
    'user',
    'package.json has dependencies but there is no package-lock.json.',
    'Run npm install --package-lock-only in the package.',
  ),
  LOCKFILE_INVALID: entry(
    2,
    'user',
    'package-lock.json is not valid or does not match package.json.',
    'Run npm install --package-lock-only in the package.',
  ),
  LOCKFILE_ENTRY_REFUSED: entry(
    2,
    'user',
    'A lockfile entry is not a registry package with a sha512 integrity.',
    'Use plain registry packages.',
  ),
  SCHEMA_UNSUPPORTED: entry(
    2,
    'user',
    'A schema uses a keyword or form that is not supported.',
    'See docs/stages/author.md for the keywords.',
  ),
  SCHEMA_TOO_COSTLY: entry(
    2,
    'user',
    'Checking a value against its schema took too long or too much memory.',
    'Simplify the schema.',
  ),
  INPUT_INVALID: entry(2, 'user', 'The input does not match the schema of the node.', 'See the place.'),
  CONFIG_VALUE_INVALID: entry(2, 'user', 'The config does not match the schema of the node.', 'See the place.'),

  // Dependencies and build
  REGISTRY_UNAVAILABLE: entry(
    1,
    'retry',
    'The package registry did not answer.',
    'Check npm config get registry and the network, then try again.',
  ),
  DEPENDENCY_NOT_FOUND: entry(2, 'user', 'The registry has no such package version.', 'Check package-lock.json.'),
  DEPENDENCY_INTEGRITY: entry(
    2,
    'final',
    'A package does not have the integrity that the lockfile names.',
    'Do not run it. Find out why it differs.',
  ),
  DEPENDENCY_TOO_FRESH: entry(
    2,
    'user',
    'A package version is younger than this host demands, or of unknown age.',
    'Wait, or pin an older version.',
  ),
  DEPENDENCY_REFUSED: entry(2, 'user', 'A package holds something that is refused.', 'Use another package.'),
  ARCHIVE_REFUSED: entry(
    2,
    'user',
    'An archive holds an entry that is refused, or is over a limit.',
    'Use another package.',
  ),
  BUILD_FAILED: entry(1, 'user', 'The bundler reported errors.', 'See the findings.'),
  BUILD_TIMED_OUT: entry(
    1,
    'user',
    'Bundling took too long and was stopped.',
    'Drop dependencies, or use smaller ones.',
  ),
  BUILD_OUT_OF_MEMORY: entry(
    1,
    'user',
    'The builder cell used all of its memory and was killed.',
    'Drop dependencies, or use smaller ones.',
  ),
  BUNDLE_TOO_LARGE: entry(2, 'user', 'The bundle is over its limit.', 'At most 16 MiB. Drop dependencies.'),

  // Drafts, validation, releases
  FIXTURE_MISSING: entry(
    2,
    'user',
    'The package has no fixture.',
    'Add fixtures/<name>.json with { input, config?, expect }.',
  ),
  FIXTURE_INVALID: entry(
    2,
    'user',
    'A fixture is not valid.',
    'A fixture is { input, config?, expect: { output } | { error: code } }.',
  ),
  FIXTURE_DIFFERS: entry(
    1,
    'user',
    'The node does not give what the fixture expects.',
    'Mend the node, or the fixture if it is wrong.',
  ),
  TYPES_FAILED: entry(1, 'user', 'The type check reports an error.', 'See the place.'),
  TYPES_SUPPRESSED: entry(
    1,
    'user',
    'Something in a file switches the type check off.',
    'Remove @ts-nocheck, and declarations of modules that have types; @ts-expect-error is for one line, and says why.',
  ),
  TYPES_TIMED_OUT: entry(1, 'user', 'The type check took too long or too much memory.', 'Simplify the types.'),
  TESTS_MISSING: entry(1, 'user', 'No test ran.', 'Add test/<name>.test.ts with tests of node:test.'),
  TESTS_FAILED: entry(1, 'user', 'A test failed.', 'See the message; the same tests run with npm test.'),
  TESTS_TIMED_OUT: entry(1, 'user', 'The tests did not end in time and were killed.', 'See that every test ends.'),
  TESTS_BROKEN_OFF: entry(
    1,
    'user',
    'The test process ended, or broke the protocol of the runner, before it told its result.',
    'Tests may not end the process nor write to descriptors that are not theirs.',
  ),
  TESTS_MUTATE: entry(
    1,
    'user',
    'The tests changed files of the package.',
    'Write to a temporary directory; sources are what was checked.',
  ),
  TESTS_NONDETERMINISTIC: entry(
    1,
    'user',
    'Two runs of the tests, at another time and in another order, do not agree.',
    'Make tests independent of order, clock and chance.',
  ),
  BUILD_NOT_REPRODUCIBLE: entry(
    1,
    'defect',
    'Two builds of the same bytes differ.',
    'Report it; nothing was released.',
  ),
  DRAFT_BUSY: entry(1, 'retry', 'The draft is being validated by another process.', 'Wait for it, then try again.'),
  DRAFT_STALE: entry(1, 'retry', 'The draft was changed meanwhile.', 'Validate the new revision.'),
  NOT_VALIDATED: entry(
    4,
    'user',
    'The draft has not passed validation; nothing was published.',
    'Run glovebox node validate.',
  ),
  VALIDATION_FAILED: entry(1, 'user', 'The validation failed.', 'See the findings.'),
  VERSION_EXISTS: entry(
    4,
    'final',
    'That version is released with another content.',
    'Raise the version in package.json.',
  ),
  RELEASE_REVOKED: entry(4, 'final', 'The release is revoked.', 'Use another version.'),
  CLASS_TOO_WEAK: entry(
    4,
    'user',
    'The release demands a stronger isolation class than the cells of this host have.',
    'Set class in glovebox.yaml to one that is as strong, or run it elsewhere.',
  ),
  RUNTIME_IMAGE_CHANGED: entry(
    4,
    'user',
    'The runtime image is not the one that the release was validated in.',
    'Run glovebox node revalidate.',
  ),
  REFERENCE_INVALID: entry(
    2,
    'user',
    'That is not a reference to a release.',
    'Write [project/]id, [project/]id@1.2.3 or [project/]id@sha256:….',
  ),

  // Artifacts and attestations
  ARTIFACT_UNREADABLE: entry(
    2,
    'user',
    'That is not an artifact.',
    'Pass an OCI image layout (a directory or a tar of it), or a reference.',
  ),
  ARTIFACT_CORRUPTED: entry(
    1,
    'final',
    'The artifact does not match its digest.',
    'Do not run it. Restore it from a backup, or publish it again.',
  ),
  ARTIFACT_INVALID: entry(
    1,
    'final',
    'The artifact matches its digest but its content is not valid.',
    'Do not run it.',
  ),
  ARTIFACT_UNSIGNED: entry(1, 'final', 'The artifact lacks an attestation that it must have.', 'Do not trust it.'),
  ATTESTATION_SIGNATURE: entry(
    1,
    'final',
    'The signature of an attestation does not match.',
    'It was changed after it was signed. Do not trust it.',
  ),
  ATTESTATION_KEY_UNKNOWN: entry(
    1,
    'final',
    'An attestation is signed by a key that is not pinned.',
    'Pass the key that you trust with --key.',
  ),
  ATTESTATION_INVALID: entry(1, 'final', 'An attestation is signed but its content is not valid.', 'Do not trust it.'),
  ATTESTATIONS_LIMIT: entry(
    1,
    'user',
    'The attestations of an artifact are over a limit.',
    'At most 1000, of 4 MiB each. Drop dependencies where one is too large, and raise the version where there are too many.',
  ),
  KEY_RETIRED: entry(
    1,
    'final',
    'It is signed by a key that the instance has retired.',
    'If you trust what was signed before the rotation, pass the retired key itself with --key.',
  ),
  AUDIT_BROKEN: entry(
    1,
    'final',
    'The audit chain is broken.',
    'Entries were changed or removed. Keep a copy and find out.',
  ),
  AUDIT_UNSIGNED: entry(
    1,
    'final',
    'No entry of the audit chain is signed by a pinned key.',
    'Anybody could have written it. Publish or revoke something, which signs the chain, and export it again.',
  ),

  // Attempt: what the node did
  NODE_FAILED: entry(1, 'user', 'The node threw an error.', 'See the logs of the run.'),
  NODE_LOAD_FAILED: entry(1, 'user', 'The bundle could not be loaded.', 'See the logs of the run.'),
  NODE_NOT_A_HANDLER: entry(
    1,
    'user',
    'The default export is not a node.',
    'Use export default defineNode(async (ctx) => …).',
  ),
  NODE_EXITED: entry(
    1,
    'user',
    'The node ended its process before it gave a result.',
    'Return the output; do not call process.exit.',
  ),
  NODE_CRASHED: entry(
    1,
    'user',
    'The process of the node was killed by a signal of its own making.',
    'See the logs of the run.',
  ),
  NODE_NEVER_SETTLED: entry(
    1,
    'user',
    'The handler can never settle: nothing is left that could wake it.',
    'Await something that ends.',
  ),
  OUTPUT_NOT_JSON: entry(
    1,
    'user',
    'The output holds a value that JSON has not.',
    'Convert BigInt, Date, Map, undefined and NaN; break cycles.',
  ),
  OUTPUT_INVALID: entry(1, 'user', 'The output does not match the schema of the node.', 'See the place.'),
  OUTPUT_TOO_LARGE: entry(1, 'user', 'The output is over its limit.', 'Raise resources.output, or write a file.'),
  FILES_LIMIT: entry(1, 'user', 'The files of the run are over their limit.', 'Raise capabilities.files.'),
  FILES_NOT_DECLARED: entry(
    1,
    'user',
    'The node wrote a file but declares no capabilities.files.',
    'Declare capabilities.files.',
  ),
  FILE_NAME_REFUSED: entry(
    1,
    'user',
    'The name of a file is refused.',
    'Use letters, digits, dot, underscore and hyphen; at most 128 characters.',
  ),
  NOT_AVAILABLE_YET: entry(
    1,
    'user',
    'This part of the context is not available yet.',
    'It comes with a later version.',
  ),

  // Egress
  EGRESS_DENIED: entry(
    4,
    'final',
    'A request was denied; nothing of it left.',
    'See the reason and the patch in the details, and who has to agree; glovebox policy check tells which rule decides.',
  ),
  EGRESS_BUDGET: entry(
    1,
    'user',
    'The requests of the attempt are over a budget of its manifest.',
    'Ask for less, or raise maxRequests, maxResponseBytes or maxRedirects in capabilities.http.',
  ),
  EGRESS_FAILED: entry(
    1,
    'retry',
    'A request was allowed, and the other side could not be reached or broke off.',
    'See the reason in the details; try again when the other side is up.',
  ),
  EGRESS_TIMED_OUT: entry(
    1,
    'retry',
    'A request was allowed, and the other side took too long.',
    'Try again, or see whether the other side is slow.',
  ),
  CELL_HTTP_ONLY: entry(
    1,
    'user',
    'A connection out of a cell speaks HTTP/1.1, TLS included, and nothing else.',
    'Use an HTTP client over http or https; raw TCP, HTTP/2 sessions and socket paths lead nowhere.',
  ),
  EGRESS_POLICY_INVALID: entry(
    2,
    'user',
    'The egress policy is not valid; nothing was changed.',
    'See the place, and glovebox policy show for one that is.',
  ),
  EGRESS_POLICY_STALE: entry(
    1,
    'retry',
    'The egress policy was changed meanwhile; nothing was changed by this call.',
    'Look at the policy of now with glovebox policy show, then set yours.',
  ),
  EGRESS_POLICY_WIDER: entry(
    4,
    'final',
    'The egress policy would let more through than the one before; nothing was changed.',
    'The details say what. A person confirms that at a terminal: run glovebox policy set there, with the policy in a file.',
  ),
  CASSETTE_INVALID: entry(2, 'user', 'A cassette is not valid.', 'Record it again with glovebox node run --record.'),
  CASSETTE_MISS: entry(
    1,
    'user',
    'A request is not in the cassette.',
    'The details have the nearest one that is; record again if the node now asks for something else.',
  ),
  CASSETTE_UNUSED: entry(
    1,
    'user',
    'An entry of a cassette is never asked for.',
    'Take it out, or record the cassette again.',
  ),
  CASSETTE_INCOMPLETE: entry(
    1,
    'user',
    'A run that is recorded did not succeed; nothing was written.',
    'Let the run succeed: half of a recording answers half of the requests.',
  ),
  CASSETTE_TOO_LARGE: entry(
    1,
    'user',
    'What was recorded does not fit a cassette; nothing was written.',
    'Record a run that asks for less.',
  ),

  // Attempt: how it was ended
  TIMED_OUT: entry(
    1,
    'retry',
    'The attempt passed its deadline and was killed.',
    'Raise resources.timeout, or do less.',
  ),
  OUT_OF_MEMORY: entry(
    1,
    'user',
    'The cell used all of its memory and was killed.',
    'Raise resources.memory, or hold less at a time.',
  ),
  PIDS_EXCEEDED: entry(1, 'user', 'The cell hit its limit of processes and threads.', 'Raise resources.pids.'),
  SCRATCH_FULL: entry(
    1,
    'user',
    'The scratch directory is full.',
    'Raise capabilities.scratch.maxBytes, or write less.',
  ),
  LOG_FLOOD: entry(1, 'user', 'The cell wrote far more log than its limit and was killed.', 'Log less.'),
  CANCELLED: entry(1, 'final', 'The attempt was cancelled.', 'Start another.'),
  CHANNEL_ABUSE: entry(
    1,
    'user',
    'The cell broke a limit of the channel and was killed.',
    'Open fewer requests at a time and log less.',
  ),
  CHANNEL_CORRUPTED: entry(
    1,
    'user',
    'The cell wrote something else to the channel and was killed.',
    'Do not write to file descriptors that are not yours.',
  ),
  CELL_BOOT_FAILED: entry(3, 'host', 'The cell did not come up.', 'Run glovebox doctor.'),
  CELL_LOST: entry(1, 'retry', 'The host lost the cell while it ran.', 'Try again.'),

  // Records
  RECEIPT_UNREADABLE: entry(2, 'user', 'The file is not a receipt.', 'Pass the receipt of a run, or a run id.'),
  RECEIPT_SIGNATURE: entry(
    1,
    'final',
    'The signature does not match.',
    'The receipt was changed after it was signed. Do not trust it.',
  ),
  RECEIPT_KEY_UNKNOWN: entry(
    1,
    'final',
    'The receipt is signed by a key that is not pinned.',
    'Pass the key that you trust with --key.',
  ),
  RECEIPT_INVALID: entry(1, 'final', 'The receipt is signed but its content is not valid.', 'Do not trust it.'),
  RECEIPT_MISMATCH: entry(
    1,
    'final',
    'The receipt does not match the record that it stands for.',
    'The record was changed. Do not trust it.',
  ),
  KEY_UNUSABLE: entry(3, 'host', 'The signing key cannot be used.', 'Check keys/ in the data directory.'),
} as const satisfies Record<string, ErrorEntry>;

export type ErrorCode = keyof typeof errorCatalogue;

export const errorCodes = Object.keys(errorCatalogue) as ErrorCode[];
