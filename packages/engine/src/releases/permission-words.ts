import { formatDuration, formatSize, type Manifest, runLimits } from '@glovebox/contract';

/**
 * What a node with this manifest may do, in sentences for whoever decides about it: the worst first, nothing left out that
 * the permissions have. The digest is over the permissions, never over these words.
 */
export function permissionWords(manifest: Manifest): string[] {
  return [...credentialWords(manifest), ...networkWords(manifest), ...effectWords(manifest), ...limitWords(manifest)];
}

function credentialWords({ capabilities }: Manifest): string[] {
  return Object.entries(capabilities.credentials ?? {})
    .sort(([, a], [, b]) => Number(b.reveal) - Number(a.reveal))
    .map(([name, slot]) => {
      const use = `${slot.kinds.join(' or ')} for ${slot.hosts.join(', ')}${slot.required ? '' : ', if one is bound'}`;
      return slot.reveal
        ? `READS THE SECRET of the credential in slot ${name} (${use}).`
        : `Uses the credential in slot ${name} (${use}) without seeing it.`;
    });
}

function networkWords({ capabilities }: Manifest): string[] {
  const { http } = capabilities;
  if (http === undefined) return ['Reaches no host.'];
  return [
    ...http.rules.map(({ scheme, host, port, methods, paths, websocket }) => {
      const usualPort = scheme === 'https' ? 443 : 80;
      const place = `${scheme}://${host}${port === usualPort ? '' : `:${port}`}`;
      const upgrade = websocket ? ', and may open a WebSocket there' : '';
      return `Sends ${methods.join(', ')} to ${place}, paths ${paths.join(', ')}${upgrade}.`;
    }),
    `Makes at most ${http.maxRequests} requests, with ${http.maxRedirects} redirects each and ${http.maxResponseBytes} of answers in all.`,
  ];
}

function effectWords({ sideEffect, idempotent, capabilities }: Manifest): string[] {
  const effects = {
    none: 'Has no effect outside of its run.',
    read: 'Reads from elsewhere and changes nothing there.',
    write: 'CHANGES things elsewhere.',
  } as const;
  const { files } = capabilities;
  return [
    `${effects[sideEffect]}${idempotent ? ' The same attempt twice does no more than once.' : ''}`,
    files === undefined ? 'Leaves no files.' : `Leaves at most ${files.maxCount} files, ${files.maxBytes} in all.`,
  ];
}

function limitWords(manifest: Manifest): string[] {
  const { cpu, memoryBytes, scratchBytes, pids, timeoutMs, outputBytes, logBytes } = runLimits(manifest);
  return [
    `Uses at most ${cpu} cores, ${formatSize(memoryBytes)} of memory, ${formatSize(scratchBytes)} of scratch and ${pids} processes and threads, for ${formatDuration(timeoutMs)}.`,
    `Gives at most ${formatSize(outputBytes)} of output and ${formatSize(logBytes)} of log.`,
  ];
}
