import type { CallGroup, ReportRange } from "../../api/reports.ts";
import type { Option } from "../../ui/option.ts";

export type ReportKind = "chat" | "calls";
export type ReportsSearch = ReportRange & {
  readonly report?: ReportKind;
  readonly by?: CallGroup;
};

export const group_options: readonly Option<CallGroup>[] = [
  { value: "day", label: "Day" },
  { value: "campaign", label: "Campaign" },
  { value: "number", label: "Number" },
  { value: "agent", label: "Agent" },
];

const day = /^\d{4}-\d{2}-\d{2}$/;

export function readReportsSearch({
  report,
  by,
  from,
  to,
}: Record<string, unknown>): ReportsSearch {
  const known = group_options.find(({ value }) => value === by)?.value;
  return {
    ...(report === "chat" || report === "calls" ? { report } : {}),
    ...(known ? { by: known } : {}),
    ...(typeof from === "string" && day.test(from) ? { from } : {}),
    ...(typeof to === "string" && day.test(to) ? { to } : {}),
  };
}
