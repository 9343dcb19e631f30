// The rows of routes for reports and exports.
import type { Feature, Permission } from "../../server/accounts/permissions.ts";
import { overview_permissions } from "../../server/reports/read-overview.ts";
import type { RouteRow } from "./route-rows.ts";

const base = "/api/v1";
const day_ms = 86_400_000;
const daysFromNow = (days: number) => new Date(Date.now() + days * day_ms).toISOString();
/** Fixed dates, so that the paths of two requests are equal. */
const span = `from=${daysFromNow(-30)}&to=${daysFromNow(1)}`;

const row = (
  features: readonly Feature[] | null,
  may: readonly Permission[],
  request: RouteRow["request"],
): RouteRow => ({ features, may, request });

/** The rows by route ID. */
export const reportRows: Record<string, RouteRow> = {
  readOverview: row(null, overview_permissions, () => ({ path: `${base}/overview` })),
  readChatReport: row(["bulk_chat"], ["reports.read"], (ids) => ({
    path: `${base}/reports/chat?group_by=campaign&${span}&campaign_id=${ids.campaign_id}`,
  })),
  exportChatReport: row(["bulk_chat"], ["reports.export"], (ids) => ({
    path: `${base}/reports/chat/export?group_by=day&${span}&campaign_id=${ids.campaign_id}`,
  })),
  readCallReport: row(["calls", "voice"], ["reports.read"], (ids) => ({
    path: `${base}/reports/calls?group_by=agent&${span}&campaign_id=${ids.call_campaign_id}&number=101`,
  })),
  exportCallReport: row(["calls", "voice"], ["reports.export"], (ids) => ({
    path: `${base}/reports/calls/export?group_by=campaign&${span}&campaign_id=${ids.call_campaign_id}`,
  })),
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
