import { GloveboxError } from '@glovebox/contract';
import type { GroupName, Handlers } from '../handler.ts';

export const instanceHandlers: Handlers<GroupName<'instance' | 'keys' | 'operations'>> = {
  'instance.get': async (_, { open, projects }) => {
    const { images, signer, driver } = await open('images', 'signer', 'driver');
    const image = await images.current('runtime').catch((error: unknown) => {
      if (GloveboxError.is(error, 'IMAGE_MISSING')) return undefined;
      throw error;
    });
    const { instance, keyId } = signer;
    return { instance, keyId, projects: [...projects], driver: driver.name, image: image?.digest ?? null };
  },

  'instance.health': async (_, { open }) => {
    const { audit } = await open('audit');
    await audit.head();
    return { healthy: true };
  },

  'keys.list': async (_, { open }) => {
    const { keys } = await open('keys');
    return { keys: [...keys] };
  },

  'operations.cancel': async ({ params, query }, { operations }) => ({
    cancelling: operations.windUp(params.project, params.operation, query.reason ?? 'cancelled'),
  }),
};
