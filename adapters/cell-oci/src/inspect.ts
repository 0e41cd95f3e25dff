export const inspectHost = async (_a: unknown, _b?: string): Promise<never> => {
  throw new Error('x');
};
