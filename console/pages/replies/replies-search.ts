import type { ReplyFilter } from "../../api/replies.ts";
import { readPhoneSearch } from "../../ui/read-phone-search.ts";

export function readRepliesSearch(search: Record<string, unknown>): ReplyFilter {
  const { opted_out } = search;
  return {
    ...readPhoneSearch(search),
    ...(typeof opted_out === "boolean" ? { opted_out } : {}),
  };
}
