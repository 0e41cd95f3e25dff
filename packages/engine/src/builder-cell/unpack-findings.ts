import { errorCatalogue, type Finding, type UnpackFinding, type UnpackReport } from '@glovebox/contract';
import { printable } from '../printable.ts';

/** What the builder found while unpacking, as findings: the package and the file in it are named. */
export function unpackFindings(report: UnpackReport): Finding[] {
  const findings = report.findings.map(unpackFinding);
  const last = findings.at(-1);
  if (last !== undefined && report.moreFindings > 0) {
    findings.push({ ...last, message: `There are ${report.moreFindings} findings more.`, place: {} });
  }
  return findings;
}

/** What dependencies bring and nothing here reads. */
export function unpackNotices({ settings }: UnpackReport): Finding[] {
  return settings.map((path) => ({
    rule: 'PACKAGE_INVALID',
    severity: 'notice',
    message: `${printable(path)} is ignored`,
    hint: 'Nothing to do; but a package has no need to bring settings of package managers.',
    place: { file: printable(path) },
  }));
}

function unpackFinding(found: UnpackFinding): Finding {
  const entry = found.entry === undefined ? undefined : printable(found.entry);
  const where =
    found.package === undefined ? (entry ?? '') : `${found.package}${entry === undefined ? '' : ` (${entry})`}`;
  return {
    rule: found.rule,
    severity: 'error',
    message: `${where}: ${printable(found.message, 500)}.`,
    hint: unpackHint(found),
    place: { file: found.package === undefined ? (entry ?? '') : `${found.package}/${entry ?? ''}`.replace(/\/$/, '') },
  };
}

function unpackHint(found: UnpackFinding): string {
  if (found.rule === 'PACKAGE_FILE_REFUSED')
    return 'Remove it from the package; what a node needs goes into src and package-lock.json.';
  if (found.rule === 'DEPENDENCY_REFUSED' && /native code/.test(found.message)) {
    return 'Cells run no native code. Look for a package in plain JavaScript.';
  }
  if (found.rule === 'DEPENDENCY_REFUSED' && /declares the module/.test(found.message)) {
    return 'Its types stand in for those of others. Use another package, or another version of it.';
  }
  return errorCatalogue[found.rule].hint;
}
