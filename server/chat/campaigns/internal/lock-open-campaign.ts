import type { Tx } from "../../../lib/database/database.ts";
import { notFound, Refusal } from "../../../lib/errors.ts";

export type OpenCampaign = {
  readonly name: string;
  readonly state: "scheduled" | "running";
  readonly chat_number_id: number;
};

/**
 * Locks a campaign that is not over yet, so that it stays as it is until the commit. Take its holds
 * first. Refuses: not-found; conflict, which says that it cannot be `done` any more.
 */
export async function lockOpenCampaign(
  tx: Tx,
  accountId: number,
  id: number,
  done: string,
): Promise<OpenCampaign> {
  const campaign = await tx
    .selectFrom("chat_campaigns")
    .select(["name", "state", "chat_number_id"])
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
