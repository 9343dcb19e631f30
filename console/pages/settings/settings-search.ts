import type { AuditFilter, LedgerFilter } from "../../api/account.ts";
import type { Option } from "../../ui/option.ts";

export const kind_options: readonly Option<NonNullable<LedgerFilter["kind"]>>[] = [
  { value: "chat", label: "Messages" },
  { value: "call", label: "Calls" },
];

export const transfer_options: readonly Option<NonNullable<LedgerFilter["type"]>>[] = [
  { value: "grant", label: "Added" },
  { value: "reserve", label: "Set aside" },
  { value: "capture", label: "Spent" },
  { value: "release", label: "Returned, not used" },
  { value: "refund", label: "Refunded" },
];

const day = /^\d{4}-\d{2}-\d{2}$/;

function readDays({ from, to }: Record<string, unknown>) {
  return {
    ...(typeof from === "string" && day.test(from) ? { from } : {}),
    ...(typeof to === "string" && day.test(to) ? { to } : {}),
  };
}

export function readLedgerSearch(search: Record<string, unknown>): LedgerFilter {
  const kind = kind_options.find(({ value }) => value === search["kind"])?.value;
  const type = transfer_options.find(({ value }) => value === search["type"])?.value;
  return { ...(kind ? { kind } : {}), ...(type ? { type } : {}), ...readDays(search) };
}

export function readAuditSearch(search: Record<string, unknown>): AuditFilter {
  const { action, user_id } = search;
  return {
    ...(typeof action === "string" ? { action } : {}),
    ...(Number.isSafeInteger(user_id) ? { user_id: user_id as number } : {}),
    ...readDays(search),
  };
}
