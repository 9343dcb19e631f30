/**
 * SQL: whether the agent of the leg `l` took the call: the phone answered, and the agent pressed 1 if that is asked
 * (transitions/handle-leg-ended.ts). A voicemail that answers takes none, also if its end was lost; nor does an agent
 * whose answer crossed the end of the call.
 */
export const agent_took_leg =
  "(l.answered_at is not null and l.state <> 'accepting' and l.status not in ('no-answer', 'canceled'))";
