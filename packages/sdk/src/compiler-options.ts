/** How the types of a node package are checked: by an author's own tsconfig.json, and by validation, which reads none. */
export const compilerOptions = {
  target: 'ESNext',
  module: 'NodeNext',
  lib: ['ESNext'],
  types: ['node'],
  strict: true,
  noUncheckedIndexedAccess: true,
  exactOptionalPropertyTypes: true,
  erasableSyntaxOnly: true,
  verbatimModuleSyntax: true,
  allowImportingTsExtensions: true,
  resolveJsonModule: true,
  skipLibCheck: true,
  noEmit: true,
};
