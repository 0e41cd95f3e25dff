import type { Mutant } from './mutant.ts';

const claims = (name: string): Mutant['test'] => ({
  file: 'packages/cell/src/host/uid-claims.test.ts',
  name: `a uid claim ${name}`,
});
const marks = (name: string): Mutant['test'] => ({
  file: 'packages/cell/src/process-mark.test.ts',
  name: `a marked process ${name}`,
});
const plans = (name: string): Mutant['test'] => ({ file: 'packages/cell/src/check-plan.test.ts', name });
const probe = (name: string): Mutant['test'] => ({ file: 'packages/cell/src/conformance.test.ts', name });
const limits = (name: string): Mutant['test'] => ({ file: 'adapters/cell-oci/src/limits.test.ts', name });
const insideCell: Mutant['test'] = {
  file: 'adapters/cell-oci/src/cells.test.ts',
  name: 'a cell under crun is from inside all that a cell must be, read in one probe boot',
};
const sweep = (name: string): Mutant['test'] => ({
  file: 'adapters/cell-oci/src/owner-death.test.ts',
  name: `a sweep ${name}`,
});
const ownerDeath: Mutant['test'] = {
  file: 'adapters/cell-oci/src/owner-death.test.ts',
  name: 'when the owner of cells under crun is killed every process of them dies with it, busy or not, and a sweep leaves nothing',
};

/** What a cell is given, who owns it, and what ends it. */
export const cellMutants: readonly Mutant[] = [
  {
    file: 'packages/contract/src/plan.ts',
    find: '      .max(planCeilings.memoryBytes),',
    replace: '      .max(planCeilings.memoryBytes * 2),',
    test: plans('a plan is taken at the ceiling of memoryBytes, and refused one above it'),
    why: 'a caller could give a cell more memory than any may have',
  },
  {
    file: 'packages/contract/src/plan.ts',
    find: 'export const cellPlanSchema = z.strictObject({',
    replace: 'export const cellPlanSchema = z.object({',
    test: plans('a plan is refused with a word that no plan has'),
    why: 'a caller could ask for a mount, and be told that it was granted',
  },
  {
    file: 'packages/cell/src/check-plan.ts',
    find: ' || !idPatterns.cell.test(unsafeId)) {',
    replace: ') {',
    test: plans('a cell id is refused that is "../../etc"'),
    why: 'the id becomes a path segment, and could lead anywhere',
  },
  {
    file: 'packages/cell/src/host/uid-claims.ts',
    find: "if (['EEXIST', 'ENOTEMPTY', 'ENOTDIR'].includes(errnoOf(thrown))) return false;",
    replace: "if (['EEXIST', 'ENOTEMPTY', 'ENOTDIR'].includes(errnoOf(thrown))) return true;",
    test: claims('is refused when every number is taken, and given when one is free'),
    why: 'two live cells would share a uid where a rename meets a claim that is held',
  },
  {
    file: 'packages/cell/src/host/uid-claims.ts',
    find: '    rmdirSync(join(path, name));',
    replace: '    for (const held of readdirSync(path)) rmdirSync(join(path, held));',
    test: claims('is not taken away by a second sweep that judged the one before it'),
    why: 'a slow sweep would free the uid of a cell that got it meanwhile',
  },
  {
    file: 'packages/cell/src/host/uid-claims.ts',
    find: ' || (stat.mode & 0o077) !== 0) {',
    replace: ') {',
    test: claims('is never made in a directory that others can write to'),
    why: 'any user of the host could make two cells share a uid',
  },
  {
    file: 'packages/cell/src/host/uid-claims.ts',
    find: '    if (!lstatSync(path).isDirectory()) return [];\n',
    replace: '',
    test: claims('is not read through a link'),
    why: 'a link in the place of a claim would be read as what it leads to',
  },
  {
    file: 'packages/cell/src/host/uid-claims.ts',
    find: '  return { name: undefined, kept:',
    replace: '  return { name, kept:',
    test: claims("tells who keeps it, and by that reads as nobody's to whoever does not know the keeper"),
    why: 'the uid of a cell that an engine keeps alive would be freed when its owner dies',
  },
  {
    file: 'packages/cell/src/process-mark.ts',
    find: "    if (mark.pidNamespace !== currentPidNamespace()) return 'unknown';",
    replace: "    if (mark.pidNamespace !== currentPidNamespace()) return 'dead';",
    test: marks('is unknown when its pid counts in another pid namespace, whatever that pid is here'),
    why: 'the cells of an owner in a container would be swept while it lives',
  },
  {
    file: 'packages/cell/src/process-mark.ts',
    find: '  if (stat.startTicks !== mark.startTicks) return',
    replace: '  if (stat.startTicks === "") return',
    test: marks('is dead when its pid has another start time, has no process, or is of another boot'),
    why: 'what a dead owner left would stay for as long as another process has its pid',
  },
  {
    file: 'packages/cell/src/process-mark.ts',
    find: "  if (!bootIdPattern.test(mark.bootId)) return 'unknown';\n",
    replace: '',
    test: marks('is unknown when its boot is none that a kernel could have'),
    why: 'a name that is cut short would pass for one of another boot, and its owner for dead',
  },
  {
    file: 'packages/cell/src/process-mark.ts',
    find: " && stat.threads <= 1) return 'dead';",
    replace: ") return 'dead';",
    test: marks('lives while a thread of it does, though its first one has ended and is a zombie'),
    why: 'an owner whose first thread has ended would be taken for dead',
  },
  {
    file: 'packages/cell/src/process-mark.ts',
    find: " return isInOurTime(mark.pid) ? 'dead' : 'unknown';",
    replace: " return 'dead';",
    test: marks('is unknown to whoever reads start times in another time namespace, and lives for who does not'),
    why: 'an owner in another time namespace would be taken for dead',
  },
  {
    file: 'packages/cell/src/conformance.ts',
    find: '  return held[link]?.includes(own) === false ? [] :',
    replace: '  return held[link]?.includes(own) !== true ? [] :',
    test: probe('a cell is found out whose namespaces there is nothing to compare with'),
    why: 'namespaces that nobody compared would count as its own',
  },
  {
    file: 'packages/cell/src/conformance-mounts.ts',
    find: 'isSibling(other, mount) && isBelow(',
    replace: 'isBelow(',
    test: probe('a mount is found on what the kernel lists after it'),
    why: 'a directory of the host within the scratch directory would not be seen',
  },
  {
    file: 'packages/cell/src/conformance.ts',
    find: '  tree.complete ? [] :',
    replace: '  tree.entries > 0 ? [] :',
    test: probe('a cell is found out whose tree was not walked whole, for no-new-privileges'),
    why: 'what lies beyond where the probe stopped would count as looked at',
  },
  {
    file: 'packages/cell/src/seccomp.ts',
    find: 'const cloneMask = 0x7e03_0000;',
    replace: 'const cloneMask = 0x0001_0000;',
    test: insideCell,
    why: 'a thread could be made in a new user namespace, with every capability in it',
  },
  {
    file: 'packages/cell/src/seccomp.ts',
    find: "test: { kind: 'equal', anyOf: [AF_UNIX] },",
    replace: "test: { kind: 'equal', anyOf: [AF_UNIX, 40] },",
    test: insideCell,
    why: 'vsock is not bound to a network namespace, and reaches the hypervisor',
  },
  {
    file: 'adapters/cell-oci/src/launch.ts',
    find: "    ...['--pdeathsig', 'KILL'],",
    replace: "    ...['--pdeathsig', 'CONT'],",
    test: ownerDeath,
    why: 'a cell would live on without anybody who ends it',
  },
  {
    file: 'adapters/cell-oci/src/running-cell.ts',
    find: "setTimeout(() => end('lifetime'), parts.ignoreDeadline ?",
    replace: "setTimeout(() => end('lifetime'), true ?",
    test: limits('kills at the end of its lifetime a cell that was never dispatched'),
    why: 'a cell that is never dispatched would never end',
  },
  {
    file: 'packages/cell/src/check-plan.ts',
    find: '!(asked.cpu > 0 && asked.cpu <= limits.cpu) || ',
    replace: '',
    test: limits('is dispatched once, and with no more than its plan'),
    why: 'a dispatch could give a cell more cores than its plan',
  },
  {
    file: 'adapters/cell-oci/src/running-cell.ts',
    find: "    if (life.kind === 'ending') return;\n    life =",
    replace: '    life =',
    test: limits('keeps the first of two reasons to kill'),
    why: 'a cell that broke a rule could pass for one that was done',
  },
  {
    file: 'adapters/cell-oci/src/sweep.ts',
    find: "  return judgeOwner(name) === 'dead';",
    replace: "  return judgeOwner(name) !== 'unknown';",
    test: sweep('leaves the cells of a live owner alone and counts them as unknown'),
    why: 'a sweep would kill the cells of another process that lives',
  },
  {
    file: 'adapters/cell-oci/src/sweep.ts',
    find: '(claim.uids !== undefined && hasProcessOf(claim.uids))',
    replace: 'claim.uids === undefined',
    test: sweep('does not free a uid that a process still has, and frees it when the process is gone'),
    why: 'a new cell would get the uid of a process that another one left behind',
  },
];
