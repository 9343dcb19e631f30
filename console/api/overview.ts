import { queryOptions } from "@tanstack/react-query";
import type { Answer } from "./answer.ts";
import { api, body } from "./client.ts";
import { useRefresh } from "./live.ts";

export type Overview = Answer<"readOverview">;

const refresh_ms = 5_000;

/** Today's counts change with every message, so they are read again every few seconds while the tab is in view. */
export const overviewQuery = queryOptions({
  queryKey: ["overview"],
  queryFn: ({ signal }) => body(api.GET("/api/v1/overview", { signal })),
  refetchInterval: refresh_ms,
});

/** Reads what waits for a person again as soon as it may have changed. */
export function useOverviewRefresh(): void {
  useRefresh(
    [
      "chat.campaign.paused",
      "chat.campaign.resumed",
      "chat.campaign.completed",
      "chat.campaign.cancelled",
      "chat.campaign.failed",
      "chat.template.updated",
      "voice.campaign.paused",
      "voice.campaign.resumed",
      "voice.campaign.completed",
      "voice.campaign.cancelled",
      "credit.low",
      "callback.endpoint.disabled",
    ],
    ["overview"],
  );
}
