// @ts-check
/**
 * Why the setup stopped. `code` is one of the product's catalogue (tests pin that), `exit` its exit status there; the
 * catalogue itself is TypeScript and may not be readable yet.
 */
export class SetupError extends Error {
  /**
   * @param {'USAGE' | 'SETUP_CONSENT_NEEDED' | 'SETUP_INSTALL_FAILED' | 'SETUP_BUSY' | 'PRIVILEGE_MISSING' | 'HOST_UNSUPPORTED'} code
   * @param {string} message what is wrong, by name
   * @param {string} hint what to do about it
   */
  constructor(code, message, hint) {
    super(message);
    this.name = 'SetupError';
    this.code = code;
    this.hint = hint;
    this.exit = exitOf[code];
  }
}

/** Exit statuses, as in the catalogue. */
export const exitOf = {
  USAGE: 2,
  SETUP_CONSENT_NEEDED: 2,
  SETUP_INSTALL_FAILED: 3,
  SETUP_BUSY: 3,
  PRIVILEGE_MISSING: 3,
  HOST_UNSUPPORTED: 3,
};
