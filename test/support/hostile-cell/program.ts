import { Peer, wait } from './peer.ts';
import { scenarios } from './scenarios.ts';

const [name = '', ...options] = process.argv.slice(2);
const scenario = scenarios[name];
if (scenario === undefined) throw new Error(`there is no scenario ${name}`);
try {
  scenario(new Peer(), options);
} catch (error) {
  // The host has ended the channel: what a hostile cell does then is to live on.
  if ((error as NodeJS.ErrnoException).code !== 'EPIPE' && (error as NodeJS.ErrnoException).code !== 'ECONNRESET')
    throw error;
}
wait(60_000);
