import { expect, it } from 'vitest';
import type { Target } from './api.ts';
import { RedirectTrail } from './redirects.ts';
import { parseTarget } from './target.ts';

function target(url: string): Target {
  const parsed = parseTarget(url);
  if (parsed.kind !== 'target') throw new Error(`${url} is refused`);
  return parsed.target;
}
const from = target('https://a.test/x/y?q=1');

it.each([
  ['/b', 'https://a.test/b'],
  ['z', 'https://a.test/x/z'],
  ['?p', 'https://a.test/x/y?p'],
  ['//b.test', 'https://b.test/'],
  ['https://B.test:443/#f', 'https://b.test/'],
  ['http://b.test:8080/', 'http://b.test:8080/'],
])('takes %s for where it leads to: %s', (location, to) => {
  const trail = new RedirectTrail(3);
  trail.note(from, 0, 302, location);
  expect(trail.follow(target(to))).toBe(1);
  expect(trail.follow(from)).toBe(0);
});

it.each([
  [301, 1],
  [302, 1],
  [303, 1],
  [307, 1],
  [308, 1],
  [200, 0],
  [201, 0],
  [300, 0],
  [304, 0],
  [404, 0],
])('takes %i with a location for so many hops: %i', (status, hops) => {
  const trail = new RedirectTrail(3);
  trail.note(from, 0, status, '/b');
  expect(trail.follow(target('https://a.test/b'))).toBe(hops);
});

it.each(['http://[', 'file:///etc/passwd', 'https://u:p@a.test/', 'javascript:alert(1)', '\\\\b.test', ''])(
  'is not put off by a location that leads nowhere: %s',
  (location) => {
    const trail = new RedirectTrail(0);
    expect(() => trail.note(from, 0, 302, location)).not.toThrow();
    expect(trail.follow(target('https://c.test/'))).toBe(0);
  },
);

it('is a hop once for each answer that led there, then a request like any other', () => {
  const trail = new RedirectTrail(3);
  trail.note(from, 0, 302, '/login');
  trail.note(from, 1, 302, '/login');
  const login = target('https://a.test/login');
  expect([trail.follow(login), trail.follow(login), trail.follow(login)]).toEqual([2, 2, 0]);
});

it('remembers the last 1,024', () => {
  const trail = new RedirectTrail(0);
  for (let i = 0; i < 1025; i++) trail.note(from, 0, 302, `/${i}`);
  expect(trail.follow(target('https://a.test/0'))).toBe(0);
  expect(trail.follow(target('https://a.test/1'))).toBe('too-many');
  expect(trail.follow(target('https://a.test/1024'))).toBe('too-many');
});
