export { packageRevision, sortedByBytes } from '@glovebox/contract';
