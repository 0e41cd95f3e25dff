import { GloveboxError } from '@glovebox/contract';

export const anotherEngine = (): GloveboxError =>
  new GloveboxError('CELL_LOST', {
    message:
      'Another container engine answers at this address, and cannot tell what becomes of the cells of the first.',
  });
