import { lstatSync } from 'node:fs';
import { join } from 'node:path';
import { openInstance } from '@glovebox/artifact';
import { GloveboxError } from '@glovebox/contract';
import type { CommandContext } from '../commands.ts';
import { configFileName, dataDirOf } from '../config.ts';
import { writeNewFile } from '../target.ts';

const commentedConfig = `# Glovebox configuration. Every line here is optional; what is commented out shows the default.

# What makes cells: oci (an OCI runtime of this host, directly), docker (a container engine), celld (a process that owns
# either, so that this one needs no rights to it).
# driver: oci
# docker: { host: unix:///var/run/docker.sock }
# celld: { socket: /run/glovebox/celld.sock }

# Isolation class of cells: ns (namespaces, cgroups and seccomp), or gvisor (the same around a kernel in user space: runsc).
# class: ns

# OCI runtime of the driver oci: auto (crun, else runc; for gvisor runsc), crun, runc, runsc, or an absolute path.
# runtime: auto

# What cells may go without on this host, by name; glovebox doctor tells the names, and every receipt tells the risk.
# acceptedRisks: []

# Package registry that dependencies of nodes come from. Default: the one that npm is configured with.
# registry: https://registry.example.com/

# How long a version must have been in the registry before a validation takes it, in days, hours or minutes (7d, 12h, 90m).
# It keeps out a version that was stolen into the registry and is found out within hours. Default: none, since it keeps out
# the latest fix of a hole just as long, and not every registry tells since when it has a version.
# packages: { minimumAge: 7d }

# How requests of nodes leave from here: an HTTP proxy, files of certificates in PEM that count beside those of Node.js, and
# addresses of hosts that are then not looked up. What nodes may reach is no matter of this file: it is what their manifests
# declare, within the egress policy of their project (glovebox policy show).
# egress: { proxy: "http://proxy.example.com:3128", extraCa: [/etc/ssl/company.pem], hosts: { git.example.internal: 10.1.2.3 } }
`;

export async function run({ args, output }: CommandContext): Promise<number> {
  const dataDir = dataDirOf(args.global.dataDir);
  const path = join(dataDir, configFileName);
  if (lstatSync(path, { throwIfNoEntry: false }))
    throw new GloveboxError('ALREADY_EXISTS', {
      message: `${path} is already there; nothing was changed.`,
      place: { file: path },
    });
  const { instance, publicKeyPem } = await openInstance(dataDir);
  await writeNewFile(path, [Buffer.from(commentedConfig)], 0o600);
  output.result(
    { dataDir, config: path, instance, publicKey: publicKeyPem },
    () =>
      `Made ${dataDir}\n  config    ${path}\n  instance  ${instance}\n\nNext: glovebox doctor, then glovebox node new my-node`,
  );
  return 0;
}
