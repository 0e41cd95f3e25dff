import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A key and a certificate in PEM, as a server takes them. */
export interface Identity {
  readonly key: string;
  readonly cert: string;
}

/** A certificate authority that nobody on this host knows, made when it is asked for. */
export interface TestCa {
  readonly cert: string;
  /** @param names as openssl has them: `DNS:origin.test`, `IP:127.0.0.1`. @param days below 0: it has expired. */
  issue(names: readonly string[], days?: number): Identity;
}

const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];

export function makeCa(): TestCa {
  const ca = inTempDir((openssl, read) => {
    const usages = ['-addext', 'basicConstraints=critical,CA:TRUE', '-addext', 'keyUsage=critical,keyCertSign'];
    openssl('req', '-x509', ...curve, '-keyout', 'key', '-out', 'pem', '-days', '2', '-subj', '/CN=Nobody', ...usages);
    return { key: read('key'), cert: read('pem') };
  });
  return { cert: ca.cert, issue: (names, days = 2) => issue(ca, names, days) };
}

/** Signed by nobody but itself. */
export function selfSigned(names: readonly string[]): Identity {
  return inTempDir((openssl, read) => {
    const name = ['-subj', '/CN=self', '-addext', `subjectAltName=${names.join(',')}`];
    openssl('req', '-x509', ...curve, '-keyout', 'key', '-out', 'pem', '-days', '2', ...name);
    return { key: read('key'), cert: read('pem') };
  });
}

function issue(ca: Identity, names: readonly string[], days: number): Identity {
  return inTempDir((openssl, read, write) => {
    write('ca.pem', ca.cert);
    write('ca.key', ca.key);
    write('names', `subjectAltName=${names.join(',')}`);
    openssl('req', '-new', ...curve, '-keyout', 'key', '-out', 'csr', '-subj', '/CN=issued');
    const signed = ['-CA', 'ca.pem', '-CAkey', 'ca.key', '-CAcreateserial', '-days', String(days), '-extfile', 'names'];
    openssl('x509', '-req', '-in', 'csr', ...signed, '-out', 'pem');
    return { key: read('key'), cert: read('pem') };
  });
}

function inTempDir<T>(
  use: (
    openssl: (...args: string[]) => void,
    read: (name: string) => string,
    write: (name: string, text: string) => void,
  ) => T,
): T {
  const dir = mkdtempSync(join(tmpdir(), 'glovebox-ca-'));
  try {
    return use(
      (...args) => void execFileSync('openssl', args, { cwd: dir, stdio: 'pipe' }),
      (name) => readFileSync(join(dir, name), 'utf8'),
      (name, text) => writeFileSync(join(dir, name), text),
    );
  } finally {
    rmSync(dir, { recursive: true });
  }
}
