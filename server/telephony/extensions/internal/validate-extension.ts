// Validation that creating and updating an extension share: number and key are free, the account may
// use the endpoint, the user exists.
import type { Caller } from "../../../accounts/caller.ts";
import type { Actor } from "../../../accounts/audit/record-audit.ts";
import type { Tx } from "../../../lib/database/database.ts";
import { violatesUnique } from "../../../lib/database/database-errors.ts";
import { invalid, invalidField, type FieldError } from "../../../lib/errors.ts";
import { knownId } from "../../../lib/ids.ts";
import { endpointPrefix } from "../endpoint-prefix.ts";

/** The account that owns the extension, and the actor of the change. */
export type ExtensionOwner = {
  readonly account: Pick<Caller["account"], "id" | "features">;
  readonly actor: Actor;
};

type Wanted = {
  /** Null for a new extension. */
  readonly id: number | null;
  readonly extension?: string | undefined;
  readonly endpoint?: string | null | undefined;
  readonly digit?: string | null | undefined;
  readonly user_id?: number | null | undefined;
};

/** Reports every violation at once: validation-failed (extension, endpoint, digit, user_id). */
export async function validateExtension(
  tx: Tx,
  account: ExtensionOwner["account"],
  wanted: Wanted,
): Promise<void> {
  const violations: FieldError[] = [];
  const accountId = account.id;
  const { id, extension, endpoint, digit, user_id } = wanted;
  if (extension !== undefined && (await holderOf(tx, accountId, id, "extension", extension)))
    violations.push(taken_extension);
  const prefix = endpointPrefix(account);
  if (endpoint && !endpoint.startsWith(prefix))
    violations.push({ field: "endpoint", reason: `must begin with ${prefix}` });
  const holder = digit && (await holderOf(tx, accountId, id, "digit", digit));
  if (holder)
    violations.push({ field: "digit", reason: `is already the key of extension ${holder}` });
  if (typeof user_id === "number" && !(await isUser(tx, accountId, user_id)))
    violations.push({ field: "user_id", reason: "matches no user" });
  if (violations.length > 0) throw invalid(violations);
}

const taken_extension: FieldError = { field: "extension", reason: "is already an extension" };

/** Maps unique violations, which concurrent requests cause, to field errors; rethrows other errors. */
export function refuseTakenExtension(error: unknown): never {
  if (violatesUnique(error, "extensions_account_id_extension_key"))
    throw invalidField(taken_extension.field, taken_extension.reason);
  if (violatesUnique(error, "extensions_account_id_digit_key"))
    throw invalidField("digit", "is already the key of an extension");
  throw error;
}

async function holderOf(
  tx: Tx,
  accountId: number,
  ownId: number | null,
  column: "extension" | "digit",
  value: string,
): Promise<string | null> {
  const row = await tx
    .selectFrom("extensions")
    .select(["id", "extension"])
    .where("account_id", "=", accountId)
    .where(column, "=", value)
    .executeTakeFirst();
  return row && row.id !== ownId ? row.extension : null;
}

async function isUser(tx: Tx, accountId: number, userId: number): Promise<boolean> {
  const user = await tx
    .selectFrom("users")
    .select("id")
    .where("account_id", "=", accountId)
    .where("id", "=", knownId(userId))
    .executeTakeFirst();
  return user !== undefined;
}
