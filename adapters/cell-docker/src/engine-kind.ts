/**
 * Which engine answers. All understand the words of Docker's API, but Podman keeps to them by half; see PodmanApi. In what they
 * differ is known by the kind, and never tried out at run time.
 */
export type EngineKind = 'docker' | 'podman';

/** By what the engine says that it is made of. */
export const engineKindOf = (components: readonly { Name: string }[]): EngineKind =>
  components.some(({ Name }) => Name === 'Podman Engine') ? 'podman' : 'docker';
