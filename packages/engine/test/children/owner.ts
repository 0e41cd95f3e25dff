// Claims the directory in its argument at each line of stdin, tells on stdout whether it is the owner, and releases at the end.
import { createInterface } from 'node:readline';
import { openOwnership } from '../../src/ownership.ts';

const ownership = openOwnership(process.argv[2] as string);
for await (const _ of createInterface(process.stdin)) process.stdout.write(`${ownership.claim()}\n`);
ownership.release();
