import type { Tx } from "../../lib/database/database.ts";
import { notFound, Refusal } from "../../lib/errors.ts";

export type OpenCampaign = {
  readonly id: number;
  readonly public_id: string;
  readonly name: string;
  readonly trunk_id: number;
  readonly state: "scheduled" | "running";
};

/**
 * Locks a campaign that is not over yet: until the commit no leader takes recipients of it. Before its
 * holds, like the leaders' claims. Refuses: not-found; conflict, which says that it cannot be `done` any
 * more.
 */
export async function lockOpenCampaign(
  tx: Tx,
  accountId: number,
  id: number,
  done: string,
): Promise<OpenCampaign> {
  const campaign = await tx
    .selectFrom("voice_campaigns")
    .select(["id", "public_id", "name", "trunk_id", "state"])
    .where("account_id", "=", accountId)
    .where("id", "=", id)
    .forNoKeyUpdate()
    .executeTakeFirst();
  if (!campaign) throw notFound();
  const { state } = campaign;
  if (state !== "scheduled" && state !== "running")
    throw new Refusal("conflict", `The campaign is ${state} and cannot be ${done}`);
  return { ...campaign, state };
}
