import { NodeError } from '@glovebox/sdk';

/** What a digest needs of an issue. */
export interface Issue {
  kind: 'issue';
  number: number;
  title: string;
  author: string;
  labels: string[];
  comments: number;
  updatedAt: string;
}

/** To GitHub every pull request is an issue too, and lists have both. */
export type Entry = Issue | { kind: 'pull-request' };

/** @throws NodeError `ANSWER_UNREADABLE` for what is no issue. */
export function readEntry(value: unknown): Entry {
  const entry = fields(value);
  if (entry.pull_request !== undefined) return { kind: 'pull-request' };
  const { number, title, user, labels, comments, updated_at: updatedAt } = entry;
  if (!Number.isSafeInteger(number) || typeof title !== 'string' || typeof updatedAt !== 'string')
    throw new NodeError('ANSWER_UNREADABLE', 'an issue has no number, title or time');
  return {
    kind: 'issue',
    number: number as number,
    title,
    author: text(fields(user).login, 'nobody'),
    labels: (Array.isArray(labels) ? labels : []).map(nameOfLabel).filter((name) => name !== ''),
    comments: Number.isSafeInteger(comments) ? (comments as number) : 0,
    updatedAt,
  };
}

/** A label is an object, or its name alone. */
const nameOfLabel = (label: unknown): string => (typeof label === 'string' ? label : text(fields(label).name, ''));

const text = (value: unknown, otherwise: string): string => (typeof value === 'string' ? value : otherwise);

const fields = (value: unknown): { [name: string]: unknown } =>
  typeof value === 'object' && value !== null ? { ...value } : {};
