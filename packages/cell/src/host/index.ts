export { errnoOf, hostError } from './host-errors.ts';
export {
  formatOwnedName,
  isMadeBy,
  judgeOwner,
  type OwnedName,
  type OwnerMark,
  parseOwnedName,
  readOwnMark,
} from './ownership.ts';
export {
  ownUsers,
  requireDirectory,
  requirePrivateDirectory,
  requireSafe,
  requireSafeTree,
} from './safe-place.ts';
export {
  defaultClaimsDirectory,
  type FoundClaim,
  openUidClaims,
  type UidClaim,
  type UidClaims,
  uidRange,
} from './uid-claims.ts';
export {
  compareDebianVersions,
  describeHoles,
  isBelow,
  judgeVersion,
  type KnownHole,
  knownHoles,
  type ProgramKind,
  type ProgramVersion,
  type VersionVerdict,
} from './version-floors.ts';
