import type { Handlers } from './handler.ts';
import { auditHandlers } from './handlers/audit.ts';
import { draftHandlers } from './handlers/drafts.ts';
import { egressHandlers } from './handlers/egress.ts';
import { instanceHandlers } from './handlers/instance.ts';
import { releaseHandlers } from './handlers/releases.ts';
import { runHandlers } from './handlers/runs.ts';

/**
 * A handler for every route. They call use cases of the engine and hold no rule of their own. Use cases are imported when
 * they are called: a command that lists runs must not load what builds nodes.
 */
export const handlers: Handlers = {
  ...draftHandlers,
  ...releaseHandlers,
  ...runHandlers,
  ...egressHandlers,
  ...auditHandlers,
  ...instanceHandlers,
};
