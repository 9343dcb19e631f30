/** Who is rung when the agent does not answer (contract 4.4 agent_not_pick_policy). */
export const noPickPolicies = [
  "hangup",
  "next_in_group",
  "ring_all",
  "round_robin",
  "longest_idle",
  "retry_agent",
] as const;
export type NoPickPolicy = (typeof noPickPolicies)[number];
