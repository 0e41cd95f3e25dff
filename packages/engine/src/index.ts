export type * from './ports.ts';
export type * from './records.ts';
