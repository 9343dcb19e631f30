import type { CampaignDetail } from "../../api/chat.ts";
import { HoldNotice } from "./hold-notice.tsx";

/** What keeps the campaign back, and how it ends. */
export function CampaignHolds({ campaign }: { readonly campaign: CampaignDetail }) {
  const { holds, paused_reason, status } = campaign;
  if (status !== "paused" && status !== "running") return null;
  if (holds.length === 0)
    // The quiet time is not stored as a hold.
    return status === "paused" && paused_reason ? <HoldNotice reason={paused_reason} /> : null;
  return holds.map((hold) => (
    <HoldNotice key={`${hold.scope} ${hold.reason}`} {...hold} hold={hold} />
  ));
}
