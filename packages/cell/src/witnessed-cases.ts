import type { WitnessedCase } from './conformance.ts';

/** What a cell cannot see of itself, and what becomes of one that goes against it. */
export const witnessedCases: readonly WitnessedCase[] = [
  {
    property: 'cgroup-memory',
    claim: 'is killed by the kernel when it takes more memory than its plan gives',
    probe: 'memory-hog',
    required: true,
    weaken: 'memory-limit',
  },
  {
    property: 'cgroup-pids',
    claim: 'is refused threads beyond the number that its plan gives',
    probe: 'thread-flood',
    required: true,
    weaken: 'pids-limit',
  },
  {
    property: 'cgroup-cpu',
    claim: 'gets no more processor time than its dispatch gives',
    probe: 'busy-loop',
    required: true,
    weaken: 'cpu-limit',
  },
  {
    property: 'cgroup-swap',
    claim: 'cannot be swapped out beyond its memory',
    probe: 'control-files',
    required: false,
    weaken: {
      cannot: 'it is the same number in one more control file, and has an effect only where the host has swap',
    },
  },
  {
    property: 'cgroup-devices',
    claim: 'may open the devices of a cell and no other, whoever made one',
    probe: 'control-files',
    required: false,
    weaken: {
      cannot: 'it stands behind the walls that keep a cell from having any other device, and so has no effect',
    },
  },
  {
    property: 'deadline',
    claim: 'is killed at its deadline, whatever it does',
    probe: 'endless-loop',
    weaken: 'deadline',
  },
  {
    property: 'death-with-owner',
    claim: 'does not outlive the process that booted it',
    probe: 'owner-killed',
    weaken: { cannot: 'the kernel kills along a chain that no plan and no specification has a word for' },
  },
];
