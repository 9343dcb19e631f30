// Validation that creating and updating a trunk share: the name is free, the endpoint is not an
// account's phone, and the account and nodes exist.
import type { Tx } from "../../../lib/database/database.ts";
import { validateDestinations } from "../../../accounts/accounts/call-destinations.ts";
import { violatesUnique } from "../../../lib/database/database-errors.ts";
import { invalid, invalidField, type FieldError } from "../../../lib/errors.ts";
import { knownId } from "../../../lib/ids.ts";
import { account_prefix } from "../../extensions/endpoint-prefix.ts";
import type { TrunkPatch } from "../trunk-schema.ts";

/** The trunk after the change. */
type Wanted = Pick<
  TrunkPatch,
  "name" | "endpoint" | "only_account_id" | "destinations" | "fallback_trunk_id" | "nodes"
> & {
  /** Null for a new trunk. */
  readonly id: number | null;
};

/**
 * Reports every violation at once: validation-failed (name, endpoint, only_account_id,
 * fallback_trunk_id, nodes).
 */
export async function validateTrunk(tx: Tx, wanted: Wanted): Promise<void> {
  const violations: FieldError[] = [];
  if (wanted.name !== undefined && (await isTaken(tx, wanted.name, wanted.id)))
    violations.push(taken_name);
  if (wanted.endpoint !== undefined && account_prefix.test(wanted.endpoint))
    violations.push({
      field: "endpoint",
      reason: "must not begin with a, digits and -, the prefix of accounts' phones",
    });
  const { only_account_id: account_id } = wanted;
  if (typeof account_id === "number" && !(await isAccount(tx, account_id)))
    violations.push({ field: "only_account_id", reason: "matches no account" });
  violations.push(...validateDestinations("destinations", wanted.destinations));
  violations.push(...(await validateFallback(tx, wanted)));
  violations.push(...(await validateNodes(tx, wanted.nodes ?? [])));
  if (violations.length > 0) throw invalid(violations);
}

const taken_name: FieldError = { field: "name", reason: "is already the name of a trunk" };

/** Maps a unique violation, which concurrent requests cause, to a field error; rethrows other errors. */
export function refuseTakenTrunk(error: unknown): never {
  if (violatesUnique(error, "trunks_name_key"))
    throw invalidField(taken_name.field, taken_name.reason);
  throw error;
}

async function isTaken(tx: Tx, name: string, ownId: number | null): Promise<boolean> {
  const other = await tx
    .selectFrom("trunks")
    .select("id")
    .where("name", "=", name)
    .executeTakeFirst();
  return other !== undefined && other.id !== ownId;
}

async function isAccount(tx: Tx, id: number): Promise<boolean> {
  const account = await tx
    .selectFrom("accounts")
    .select("account_id")
    .where("account_id", "=", knownId(id))
    .executeTakeFirst();
  return account !== undefined;
}

/** Whether it may be used is checked when a campaign moves, because accounts change. */
async function validateFallback(
  tx: Tx,
  { id, fallback_trunk_id: fallback }: Wanted,
): Promise<FieldError[]> {
  if (typeof fallback !== "number") return [];
  const field = "fallback_trunk_id";
  if (fallback === id) return [{ field, reason: "must be another trunk" }];
  const other = await tx
    .selectFrom("trunks")
    .select("id")
    .where("id", "=", knownId(fallback))
    .executeTakeFirst();
  return other ? [] : [{ field, reason: "matches no trunk" }];
}

/** Checks that the nodes exist, and locks them so that they cannot be deleted before the commit. */
async function validateNodes(
  tx: Tx,
  nodes: NonNullable<TrunkPatch["nodes"]>,
): Promise<FieldError[]> {
  const found = await tx
    .selectFrom("voice_nodes")
    .select("id")
    .where("id", "in", [...nodes.map(({ node_id }) => knownId(node_id)), 0])
    .orderBy("id")
    .forShare()
    .execute();
  const known = new Set(found.map(({ id }) => id));
  return nodes.flatMap(({ node_id }, i) =>
    known.has(node_id) ? [] : [{ field: `nodes.${i}.node_id`, reason: "matches no node" }],
  );
}
