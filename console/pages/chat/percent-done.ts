import type { Campaign } from "../../api/chat.ts";

/** The share of recipients with an outcome in whole percent, rounded down, so that 100 means all. */
export function percentDone({
  total_contacts,
  pending_count,
}: Pick<Campaign, "total_contacts" | "pending_count">): number {
  if (total_contacts === 0) return 100;
  return Math.floor(((total_contacts - pending_count) / total_contacts) * 100);
}
