import { cellMutants } from './cells.ts';
import { channelMutants } from './channel.ts';
import { noticeMutants } from './notice.ts';
import { packageMutants } from './packages.ts';
import { recordMutants } from './records.ts';
import { signatureMutants } from './signatures.ts';

noticeMutants([...cellMutants, ...channelMutants, ...packageMutants, ...recordMutants, ...signatureMutants]);
