// The counts of recipients that controls, synthesis or an erasure moves to another state.
import { statement, type Tx } from "../../lib/database/database.ts";

/**
 * Moves `count` recipients of a campaign from one state's count to another's, in the transaction that changes their states.
 * Call it last, because it locks these counts of the campaign.
 */
export async function countMovedRecipients(
  tx: Tx,
  { account_id, id }: { readonly account_id: number; readonly id: number },
  { from, to, count }: { readonly from: string; readonly to: string; readonly count: number },
): Promise<void> {
  await countVoice(tx, [account_id, id, from, to, count]);
}

const countVoice = statement("select count_voice($1, $2, 9, $3, $4, $5)");
