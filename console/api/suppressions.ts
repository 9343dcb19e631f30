import { infiniteQueryOptions } from "@tanstack/react-query";
import type { Answer, Row } from "./answer.ts";
import { api, body } from "./client.ts";
import { pageWithRows } from "./page-with-rows.ts";
import { queryClient } from "./query-client.ts";
import { upload } from "./upload.ts";

export type Suppression = Row<"listSuppressions">;
export type SuppressionImport = Answer<"importSuppressions">;

export type SuppressionFilter = {
  readonly phone_number?: string;
  readonly channel?: Suppression["channel"];
  readonly scope?: Suppression["scope"];
  readonly source?: Suppression["source"];
  readonly active?: boolean;
};

export const suppressionListQuery = (filter: SuppressionFilter) =>
  infiniteQueryOptions({
    queryKey: ["suppressions", filter],
    queryFn: ({ pageParam, signal }) =>
      pageWithRows(pageParam, (cursor) =>
        body(
          api.GET("/api/v1/suppressions", {
            params: { query: { ...filter, limit: 100, cursor } },
            signal,
          }),
        ),
      ),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next_cursor }) => next_cursor ?? undefined,
  });

/** Reads every list of suppressions again. */
export async function refreshSuppressions(): Promise<void> {
  await Promise.all([
    queryClient.invalidateQueries({ queryKey: ["suppressions"] }),
    queryClient.invalidateQueries({ queryKey: ["person"] }),
  ]);
}

export async function importSuppressions(
  parts: Readonly<Record<string, string | Blob | undefined>>,
  onProgress: (percent: number) => void,
): Promise<SuppressionImport> {
  const done = await upload("/api/v1/suppressions/import", parts, { onProgress });
  await refreshSuppressions();
  return done;
}
