import { describe, expect, it } from 'vitest';
import { findHierarchies, hybridMountPoint, parseMountInfo, restrictTo } from './cgroup-hierarchies.ts';

const line = (mountPoint: string, type: string, options: string, root = '/'): string =>
  `32 31 0:29 ${root} ${mountPoint} rw,relatime shared:9 - ${type} ${type} ${options}`;

const legacy = [
  line('/sys/fs/cgroup', 'tmpfs', 'ro,mode=755'),
  line('/sys/fs/cgroup/cpu,cpuacct', 'cgroup', 'rw,cpu,cpuacct'),
  line('/sys/fs/cgroup/memory', 'cgroup', 'rw,memory'),
  line('/sys/fs/cgroup/pids', 'cgroup', 'rw,pids'),
  line('/sys/fs/cgroup/devices', 'cgroup', 'rw,devices'),
  line('/sys/fs/cgroup/systemd', 'cgroup', 'rw,xattr,release_agent=/lib/agent,name=systemd'),
];
const noControllers = () => '';

describe('the cgroup layout of a host', () => {
  it('is legacy with a mount for each controller, two of which may share one', () => {
    const found = findHierarchies(legacy.join('\n'), noControllers);
    expect(found.mode).toBe('legacy');
    expect(found.of('cpu')).toEqual({
      version: 1,
      mountPoint: '/sys/fs/cgroup/cpu,cpuacct',
      controllers: ['cpu', 'cpuacct'],
    });
    expect(found.all.find(({ mountPoint }) => mountPoint.endsWith('systemd'))?.controllers).toEqual([]);
    expect(found.of('hugetlb')).toBeUndefined();
    expect(hybridMountPoint(found)).toBeUndefined();
  });

  it('is hybrid with a version 2 mount beside them, which crun must not see', () => {
    const text = [...legacy, line('/sys/fs/cgroup/unified', 'cgroup2', 'rw,nsdelegate')].join('\n');
    const found = findHierarchies(text, () => 'hugetlb\n');
    expect(found.mode).toBe('hybrid');
    expect(hybridMountPoint(found)).toBe('/sys/fs/cgroup/unified');
    expect(found.of('memory')?.version).toBe(1);
    expect(found.of('hugetlb')?.version).toBe(2);
  });

  it('is hybrid with a controller on either side', () => {
    const text = [
      ...legacy.filter((one) => !one.includes('pids')),
      line('/sys/fs/cgroup/unified', 'cgroup2', 'rw'),
    ].join('\n');
    const found = findHierarchies(text, () => 'pids');
    expect(found.of('pids')).toMatchObject({ version: 2, mountPoint: '/sys/fs/cgroup/unified' });
    expect(found.of('memory')?.version).toBe(1);
  });

  it('is unified with version 2 alone', () => {
    const found = findHierarchies(
      line('/sys/fs/cgroup', 'cgroup2', 'rw,nsdelegate'),
      () => 'cpuset cpu io memory pids\n',
    );
    expect(found.mode).toBe('unified');
    expect(found.of('memory')).toEqual(found.of('cpu'));
    expect(found.of('devices')).toBeUndefined();
    expect(hybridMountPoint(found)).toBeUndefined();
  });

  it('is none where nothing is mounted', () => {
    expect(findHierarchies(line('/', 'ext4', 'rw'), noControllers)).toMatchObject({ mode: 'none', all: [] });
  });

  it('counts what is visible: a mount over another hides it', () => {
    const text = [...legacy, line('/sys/fs/cgroup/memory', 'tmpfs', 'rw')].join('\n');
    expect(findHierarchies(text, noControllers).of('memory')).toBeUndefined();
  });

  it('can be narrowed to the hierarchies of some controllers', () => {
    const found = restrictTo(findHierarchies(legacy.join('\n'), noControllers), ['memory', 'cpu', 'io']);
    expect(found.all.map(({ mountPoint }) => mountPoint).sort()).toEqual([
      '/sys/fs/cgroup/cpu,cpuacct',
      '/sys/fs/cgroup/memory',
    ]);
  });
});

it('reads blanks in the paths of mountinfo, and no line that is none', () => {
  const text = `${line('/mnt/a\\040b', 'tmpfs', 'rw', '/x\\134y')}\nrubbish\n`;
  expect(parseMountInfo(text)).toEqual([{ root: '/x\\y', mountPoint: '/mnt/a b', type: 'tmpfs', options: ['rw'] }]);
});
