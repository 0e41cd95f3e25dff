// What is used of the package `semver`, which ships no types.
interface SemverOptions {
  loose?: boolean;
  includePrerelease?: boolean;
}

declare module 'semver/functions/satisfies.js' {
  export default function satisfies(version: string, range: string, options?: SemverOptions): boolean;
}

declare module 'semver/ranges/valid.js' {
  export default function validRange(range: string, options?: SemverOptions): string | null;
}
