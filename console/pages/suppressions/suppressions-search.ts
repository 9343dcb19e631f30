import type { Suppression, SuppressionFilter } from "../../api/suppressions.ts";
import { readPhoneSearch } from "../../ui/read-phone-search.ts";
import type { Option } from "../../ui/option.ts";

export const channel_options: readonly Option<Suppression["channel"]>[] = [
  { value: "all", label: "Messages and calls" },
  { value: "chat", label: "Messages" },
  { value: "voice", label: "Calls" },
];

export const scope_options: readonly Option<Suppression["scope"]>[] = [
  { value: "all", label: "Everything" },
  { value: "marketing", label: "Marketing only" },
];

export const source_options: readonly Option<Suppression["source"]>[] = [
  { value: "manual", label: "Added by a user" },
  { value: "import", label: "Imported" },
  { value: "reply", label: "Asked by message" },
  { value: "provider", label: "Asked in WhatsApp" },
  { value: "dtmf", label: "Pressed a key in a call" },
  { value: "ai_call", label: "Asked in a call" },
  { value: "auto_block", label: "Blocked for a time after a call" },
];

const known = <Value extends string>(options: readonly Option<Value>[], value: unknown) =>
  options.find((option) => option.value === value)?.value;

/** The filters in the page's address; by default what is in force. */
export function readSuppressionsSearch(search: Record<string, unknown>): SuppressionFilter {
  const { active } = search;
  const channel = known(channel_options, search["channel"]);
  const scope = known(scope_options, search["scope"]);
  const source = known(source_options, search["source"]);
  return {
    ...readPhoneSearch(search),
    ...(channel ? { channel } : {}),
    ...(scope ? { scope } : {}),
    ...(source ? { source } : {}),
    ...(typeof active === "boolean" ? { active } : {}),
  };
}
