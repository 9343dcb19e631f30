import { statement, type Executor } from "../../lib/database/database.ts";
import type { RecipientState } from "./recipient-states.ts";

/** A recipient and its new state; see chat_move_recipients_json. */
export type Move = {
  readonly campaign_id: number;
  readonly id: number;
  /** The dispatch that was read; an outdated one has no effect. */
  readonly dispatches: number;
  readonly state: RecipientState;
  readonly error?: string;
  readonly due_at?: Date;
};

export type Moved = {
  readonly campaign_id: number;
  readonly id: number;
  readonly from_state: RecipientState;
  readonly to_state: RecipientState;
};

const move = statement<Moved>(`
  select campaign_id, id, from_state, to_state from chat_move_recipients_json($1, 'controls', $2, $3)`);

/** Moves recipients on request and updates counts and credit; transitions not allowed are skipped. */
export async function moveRecipients(
  executor: Executor,
  accountId: number,
  moves: readonly Move[],
  now: Date,
): Promise<Moved[]> {
  return move(executor, [accountId, JSON.stringify(moves), now]);
}
