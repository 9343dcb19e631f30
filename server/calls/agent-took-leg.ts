// Whether the agent of a leg took the call: in SQL, and of a leg as the API shows it.

/** Statuses of an answered leg without a call: of a voicemail, and of an answer that crossed the end of the call. */
const without_call: readonly string[] = ["no-answer", "canceled"];

/**
 * SQL: whether the agent of the leg `l` took the call: the phone answered, and the agent pressed 1 if that is asked
 * (transitions/handle-leg-ended.ts). A voicemail that answers takes none, also if its end was lost; nor does an agent
 * whose answer crossed the end of the call.
 */
export const agent_took_leg =
  "(l.answered_at is not null and l.state <> 'accepting' " +
  `and l.status not in ('${without_call.join("', '")}'))`;

/** Reports the same of an agent's leg in the record of an ended call, in which no leg is `accepting`. */
export function tookCall({
  answered_at,
  status,
}: {
  readonly answered_at: string | null;
  readonly status: string;
}): boolean {
  return answered_at !== null && !without_call.includes(status);
}
