import type { ErrorEntry } from './error-catalogue.ts';

/** What an exit status says; 0 is done. */
export const exitMeanings: Readonly<Record<ErrorEntry['exit'], string>> = {
  1: 'the thing itself failed',
  2: 'usage or bad input; nothing was started',
  3: 'this host cannot',
  4: 'refused',
  70: 'a defect of Glovebox',
  130: 'interrupted',
};

/** What a caller can do about an error of a kind. */
export const kindMeanings: Readonly<Record<ErrorEntry['kind'], string>> = {
  user: 'mend the input',
  host: 'mend the machine',
  retry: 'try again',
  final: 'do not try again',
  defect: 'report it',
};
