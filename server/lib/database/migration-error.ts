/** The database cannot be brought to this version's schema; the message says why. */
export class MigrationError extends Error {
  override readonly name = "MigrationError";
}
