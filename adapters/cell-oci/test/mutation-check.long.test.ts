import { describeMutationCheck } from './mutation-check.ts';

describeMutationCheck('crun', 'all-witnesses');
describeMutationCheck('runc', 'all-witnesses');
