import { violatesUnique } from "../../../lib/database/database-errors.ts";
import { invalidField } from "../../../lib/errors.ts";

/** Converts a violation of the unique name into a 422 on `name`; rethrows any other error. */
export function refuseTakenName(error: unknown): never {
  if (!violatesUnique(error, "workspaces_account_id_name_key")) throw error;
  throw invalidField("name", "is already the name of a workspace");
}
