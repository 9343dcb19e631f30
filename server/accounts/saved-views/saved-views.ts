// Saved views: a user sees the own ones and those that are shared in the account.
import type { Kysely } from "kysely";
import { decodeCursor, page } from "../../lib/database/cursor.ts";
import { violatesUnique } from "../../lib/database/database-errors.ts";
import type { DB, Tx } from "../../lib/database/database.ts";
import { invalidField, notFound, Refusal } from "../../lib/errors.ts";
import type { AuditAction } from "../audit/audit-actions.ts";
import { recordAudit, type UserActor } from "../audit/record-audit.ts";
import type { NewSavedView, SavedViewPatch, SavedViewResponse } from "./saved-view-schema.ts";

const views_max = 100;

type Viewer = Pick<UserActor, "account_id" | "user_id">;

/** Lists the views that the user sees, by ID. */
export async function listSavedViews(
  db: Kysely<DB>,
  viewer: Viewer,
  filter: { readonly page?: string | undefined },
  { limit, cursor }: { limit: number; cursor?: string | undefined },
): Promise<{ data: SavedViewResponse[]; next_cursor: string | null }> {
  let query = visibleViews(db, viewer);
  if (filter.page !== undefined) query = query.where("page", "=", filter.page);
  if (cursor !== undefined) query = query.where("id", ">", decodeCursor(cursor));
  const found = await query
    .orderBy("id")
    .limit(limit + 1)
    .execute();
  const { rows, next } = page(found, limit);
  return { data: rows.map(savedViewOf), next_cursor: next };
}

/** Saves a view. Refuses: validation-failed if the name is taken, conflict beyond 100 views of the user. */
export async function createSavedView(
  tx: Tx,
  actor: UserActor,
  { search, shared = false, ...view }: NewSavedView,
  now: Date,
): Promise<SavedViewResponse> {
  const { account_id, user_id } = actor;
  const { views } = await tx
    .selectFrom("saved_views")
    .select((eb) => eb.fn.countAll<number>().as("views"))
    .where("account_id", "=", account_id)
    .where("user_id", "=", user_id)
    .executeTakeFirstOrThrow();
  if (views >= views_max)
    throw new Refusal("conflict", `A user has at most ${views_max} saved views`);
  const row = await tx
    .insertInto("saved_views")
    .values({
      ...view,
      account_id,
      user_id,
      shared,
      search: JSON.stringify(search),
      created_at: now,
      updated_at: now,
    })
    .returningAll()
    .executeTakeFirstOrThrow()
    .catch(refuseTakenName);
  await record(tx, actor, "saved_view.created", row, now);
  return savedViewOf(row);
}

/**
 * Changes a view that the user sees. Refuses: not-found; validation-failed if the name is taken; forbidden if someone
 * else's view would no longer be shared.
 */
export async function updateSavedView(
  tx: Tx,
  actor: UserActor,
  id: number,
  { search, ...patch }: SavedViewPatch,
  now: Date,
): Promise<SavedViewResponse> {
  const before = await visibleViews(tx, actor).where("id", "=", id).forUpdate().executeTakeFirst();
  if (!before) throw notFound();
  if (patch.shared === false && before.user_id !== actor.user_id)
    throw new Refusal("forbidden", "Only the user who created a view may stop sharing it");
  const row = await tx
    .updateTable("saved_views")
    .set({
      ...patch,
      ...(search === undefined ? {} : { search: JSON.stringify(search) }),
      updated_at: now,
    })
    .where("account_id", "=", actor.account_id)
    .where("id", "=", id)
    .returningAll()
    .executeTakeFirstOrThrow()
    .catch(refuseTakenName);
  await record(tx, actor, "saved_view.updated", row, now);
  return savedViewOf(row);
}

/** Deletes a view that the user sees. Refuses: not-found. */
export async function deleteSavedView(
  tx: Tx,
  actor: UserActor,
  id: number,
  now: Date,
): Promise<void> {
  const row = await visibleViews(tx, actor).where("id", "=", id).forUpdate().executeTakeFirst();
  if (!row) throw notFound();
  await tx
    .deleteFrom("saved_views")
    .where("account_id", "=", actor.account_id)
    .where("id", "=", id)
    .execute();
  await record(tx, actor, "saved_view.deleted", row, now);
}

function visibleViews(db: Kysely<DB>, { account_id, user_id }: Viewer) {
  return db
    .selectFrom("saved_views")
    .selectAll()
    .where("account_id", "=", account_id)
    .where((eb) => eb.or([eb("user_id", "=", user_id), eb("shared", "=", true)]));
}

type Row = Awaited<ReturnType<ReturnType<typeof visibleViews>["executeTakeFirstOrThrow"]>>;

/** Neither the name nor the filters: they may contain personal data. */
function record(tx: Tx, actor: UserActor, action: AuditAction, row: Row, now: Date): Promise<void> {
  return recordAudit(tx, actor, {
    at: now,
    action,
    subject_id: row.id,
    detail: { page: row.page, shared: row.shared },
  });
}

function savedViewOf({ account_id: _account, ...row }: Row): SavedViewResponse {
  return {
    ...row,
    search: row.search as Record<string, unknown>,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  };
}

function refuseTakenName(error: unknown): never {
  if (violatesUnique(error, "saved_views_by_name"))
    throw invalidField("name", "is already the name of a view of this page");
  throw error;
}
