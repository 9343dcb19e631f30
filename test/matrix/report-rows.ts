// The rows of reports, and of exports that are not beside their list's row.
import type { Feature, Permission } from "../../server/accounts/permissions.ts";
import type { RouteRow } from "./route-rows.ts";

const base = "/api/v1";

const row = (
  features: readonly Feature[] | null,
  may: readonly Permission[],
  request: RouteRow["request"],
): RouteRow => ({ features, may, request });

/** By the route's id. */
export const reportRows: Record<string, RouteRow> = {
  exportCreditLedger: row(null, ["credits.read"], (ids) => ({
    path: `${base}/credits/ledger/export?kind=chat&reservation_id=${ids.reservation_id}`,
  })),
  exportSuppressions: row(null, ["suppressions.read", "suppressions.manage"], () => ({
    path: `${base}/suppressions/export?phone_number=9876543210&channel=chat`,
  })),
  exportChatReplies: row(["bulk_chat"], ["chat.export"], (ids) => ({
    path: `${base}/chat/replies/export?campaign_id=${ids.campaign_id}`,
  })),
};
