import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import { send } from "./send.ts";

export type Option = {
  readonly id: number;
  readonly value: string;
  readonly label: string;
  readonly color: string | null;
};

export type Lead = {
  readonly id: number;
  readonly name: string;
  readonly phone: string;
  readonly email: string | null;
  readonly status: Option;
  readonly source: Option | null;
  readonly priority: Option;
  readonly createdAt: string;
};

export type LeadFilter = { readonly status?: number; readonly q?: string };

type Workspace = { readonly id: number; readonly name: string };

const crm = "/api/v1/crm/workspaces";

export const workspacesQuery = queryOptions({
  queryKey: ["workspaces"],
  queryFn: async ({ signal }) => {
    const { data } = await send<{ data: readonly Workspace[] }>("GET", `${crm}?limit=200`, {
      signal,
    });
    return data;
  },
});

export const picklistsQuery = (workspace: number) =>
  queryOptions({
    queryKey: ["picklists", workspace],
    queryFn: ({ signal }) =>
      send<Record<"status" | "source" | "priority", readonly Option[]>>(
        "GET",
        `${crm}/${workspace}/picklists`,
        { signal },
      ),
  });

export const leadsQuery = (workspace: number, { status, q }: LeadFilter) =>
  infiniteQueryOptions({
    queryKey: ["leads", workspace, { status, q }],
    queryFn: ({ pageParam, signal }) => {
      const search = new URLSearchParams({ limit: "50" });
      if (status !== undefined) search.set("statusId", String(status));
      if (q !== undefined) search.set("q", q);
      if (pageParam !== null) search.set("cursor", pageParam);
      return send<{ data: readonly Lead[]; nextCursor: string | null }>(
        "GET",
        `${crm}/${workspace}/leads?${search}`,
        { signal },
      );
    },
    initialPageParam: null as string | null,
    getNextPageParam: ({ nextCursor }) => nextCursor,
  });
