import { describeMutationCheck } from './mutation-check.ts';

describeMutationCheck('crun', 'own-witness');
