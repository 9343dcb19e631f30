import { violatesUnique } from "../../../lib/database/database-errors.ts";
import { invalidField } from "../../../lib/errors.ts";

/** Turns the violation of "one name per account" into a 422 on `name`; rethrows anything else. */
export function refuseTakenName(error: unknown): never {
  if (!violatesUnique(error, "workspaces_account_id_name_key")) throw error;
  throw invalidField("name", "is already the name of a workspace");
}
