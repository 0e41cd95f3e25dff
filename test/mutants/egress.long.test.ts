import { egressAdminMutants } from './egress-admin.ts';
import { egressCassetteMutants } from './egress-cassette.ts';
import { egressDialerMutants } from './egress-dialer.ts';
import { egressGuestMutants } from './egress-guest.ts';
import { egressPolicyMutants } from './egress-policy.ts';
import { egressSessionMutants } from './egress-session.ts';
import { noticeMutants } from './notice.ts';

noticeMutants([
  ...egressAdminMutants,
  ...egressCassetteMutants,
  ...egressDialerMutants,
  ...egressGuestMutants,
  ...egressPolicyMutants,
  ...egressSessionMutants,
]);
