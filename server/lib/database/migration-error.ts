/** The schema cannot be migrated to this version; the message says why. */
export class MigrationError extends Error {
  override readonly name = "MigrationError";
}
