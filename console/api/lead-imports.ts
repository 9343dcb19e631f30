import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import type { Answer, Row } from "./answer.ts";
import { api, body } from "./client.ts";
import { queryClient } from "./query-client.ts";
import { upload } from "./upload.ts";

export type LeadImport = Row<"listLeadImports">;
export type LeadReject = Row<"listLeadRejects">;
export type ImportPreview = Answer<"previewLeadImport">;

/** {field of a lead: header of its column}. */
export type ColumnMap = Readonly<Record<string, string>>;

/** How often an import in progress is read again: rejected rows cause no event. */
const poll_ms = 2_000;

export const leadImportQuery = (workspaceId: number, importId: number) =>
  queryOptions({
    queryKey: ["lead-imports", workspaceId, importId],
    queryFn: ({ signal }) =>
      body(
        api.GET("/api/v1/crm/workspaces/{workspaceId}/leads/imports/{importId}", {
          params: { path: { workspaceId, importId } },
          signal,
        }),
      ),
    refetchInterval: ({ state }) => (state.data?.state === "processing" ? poll_ms : false),
  });

/** The last imports, the newest first. */
export const leadImportsQuery = (workspaceId: number) =>
  queryOptions({
    queryKey: ["lead-imports", workspaceId, "list"],
    queryFn: async ({ signal }) =>
      (
        await body(
          api.GET("/api/v1/crm/workspaces/{workspaceId}/leads/imports", {
            params: { path: { workspaceId }, query: { limit: 10 } },
            signal,
          }),
        )
      ).data,
  });

/** The rejects of an import that has ended. */
export const leadRejectsQuery = (workspaceId: number, importId: number) =>
  infiniteQueryOptions({
    queryKey: ["lead-imports", workspaceId, importId, "rejects"],
    queryFn: async ({ pageParam: cursor, signal }) =>
      // The same operation also answers CSV.
      (await body(
        api.GET("/api/v1/crm/workspaces/{workspaceId}/leads/imports/{importId}/rejects", {
          params: { path: { workspaceId, importId }, query: { limit: 100, cursor } },
          signal,
        }),
      )) as Answer<"listLeadRejects">,
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ nextCursor }) => nextCursor ?? undefined,
  });

type Sent = {
  readonly workspace: number;
  readonly file: File;
  readonly onProgress: (percent: number) => void;
};

/** Inspects a file; with a map, also checks its rows. Throws ApiProblem. */
export function previewImport(sent: Sent, map?: ColumnMap): Promise<ImportPreview> {
  const { workspace: workspaceId, file, onProgress } = sent;
  return upload(
    "/api/v1/crm/workspaces/{workspaceId}/leads/import/preview",
    { columnMap: map && JSON.stringify(map), file },
    { params: { workspaceId }, onProgress },
  );
}

/** Begins an import; returns its ID, also of the first one under the same key. Throws ApiProblem. */
export async function startImport(sent: Sent, map: ColumnMap, key: string): Promise<number> {
  const { workspace: workspaceId, file, onProgress } = sent;
  const { id } = await upload(
    "/api/v1/crm/workspaces/{workspaceId}/leads/import",
    { columnMap: JSON.stringify(map), file },
    { params: { workspaceId }, key, onProgress },
  );
  await queryClient.invalidateQueries({ queryKey: ["lead-imports", workspaceId] });
  return id;
}
