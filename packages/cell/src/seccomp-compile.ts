import { allowedNames, cellSeccomp, type SeccompList, type SyscallArch, type SyscallCondition } from './seccomp.ts';

export interface SeccompRule {
  names: string[];
  action: 'SCMP_ACT_ALLOW' | 'SCMP_ACT_ERRNO' | 'SCMP_ACT_TRACE';
  errnoRet?: number;
  args?: { index: number; value: number; valueTwo?: number; op: 'SCMP_CMP_EQ' | 'SCMP_CMP_MASKED_EQ' }[];
}

export interface SeccompProfile {
  defaultAction: 'SCMP_ACT_ERRNO';
  defaultErrnoRet: number;
  /** One only: calls by another table of the same processor (i386, x32) are answered with death. */
  architectures: string[];
  syscalls: SeccompRule[];
}

const ociArchitectures: Record<SyscallArch, string> = { x64: 'SCMP_ARCH_X86_64', arm64: 'SCMP_ARCH_AARCH64' };

/** The list in the words of the OCI runtime specification. Rules of one name are alternatives there. */
export function compileSeccomp(arch: SyscallArch, list: SeccompList = cellSeccomp): SeccompProfile {
  return {
    defaultAction: 'SCMP_ACT_ERRNO',
    defaultErrnoRet: list.defaultErrno,
    architectures: [ociArchitectures[arch]],
    syscalls: [
      { names: allowedNames(arch, list), action: 'SCMP_ACT_ALLOW' },
      ...list.conditional.flatMap(compileCondition),
      ...list.answered.map(
        ({ names, errno }): SeccompRule => ({ names: [...names], action: 'SCMP_ACT_ERRNO', errnoRet: errno }),
      ),
    ],
  };
}

function compileCondition({ names, argument: index, test }: SyscallCondition): SeccompRule[] {
  if (test.kind === 'masked') {
    const arg = { index, value: test.mask, valueTwo: test.value, op: 'SCMP_CMP_MASKED_EQ' as const };
    return [{ names: [...names], action: 'SCMP_ACT_ALLOW', args: [arg] }];
  }
  return test.anyOf.map((value) => ({
    names: [...names],
    action: 'SCMP_ACT_ALLOW',
    args: [{ index, value, op: 'SCMP_CMP_EQ' }],
  }));
}
