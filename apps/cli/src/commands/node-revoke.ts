import type { CommandContext } from '../commands.ts';
import { changeRelease } from '../release-change.ts';

export const run = (context: CommandContext): Promise<number> => changeRelease(context, 'node revoke', 'revoked');
