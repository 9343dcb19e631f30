import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import { allRows } from "./all-rows.ts";
import type { Answer, Row } from "./answer.ts";
import { api, body } from "./client.ts";
import { keyed } from "./keyed.ts";
import { queryClient } from "./query-client.ts";
import { upload } from "./upload.ts";

export type Group = Row<"listGroups">;
export type Member = Row<"listGroupMembers">;
export type MemberImport = Answer<"importGroupMembers">;

export const groupsQuery = queryOptions({
  queryKey: ["groups"],
  queryFn: ({ signal }) =>
    allRows((query) => body(api.GET("/api/v1/groups", { params: { query }, signal }))),
});

export const groupListQuery = infiniteQueryOptions({
  queryKey: ["groups", "list"],
  queryFn: ({ pageParam: cursor, signal }) =>
    body(api.GET("/api/v1/groups", { params: { query: { limit: 100, cursor } }, signal })),
  initialPageParam: undefined as string | undefined,
  getNextPageParam: ({ next_cursor }) => next_cursor ?? undefined,
});

export const groupQuery = (id: number) =>
  queryOptions({
    queryKey: ["groups", id],
    queryFn: ({ signal }) =>
      body(api.GET("/api/v1/groups/{id}", { params: { path: { id } }, signal })),
  });

export const membersQuery = (id: number, phone_number: string | undefined) =>
  infiniteQueryOptions({
    queryKey: ["groups", id, "members", phone_number],
    queryFn: ({ pageParam: cursor, signal }) =>
      body(
        api.GET("/api/v1/groups/{id}/members", {
          params: { path: { id }, query: { limit: 100, phone_number, cursor } },
          signal,
        }),
      ),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next_cursor }) => next_cursor ?? undefined,
  });

const refresh = () => queryClient.invalidateQueries({ queryKey: ["groups"] });

/** Creates a group; returns its ID. */
export async function createGroup(name: string, key: string): Promise<number> {
  const { id } = await body(api.POST("/api/v1/groups", { params: keyed(key), body: { name } }));
  await refresh();
  return id;
}

export async function renameGroup(id: number, name: string): Promise<void> {
  await api.PATCH("/api/v1/groups/{id}", { params: { path: { id } }, body: { name } });
  await refresh();
}

export async function deleteGroup(id: number): Promise<void> {
  await api.DELETE("/api/v1/groups/{id}", { params: { path: { id } } });
  queryClient.removeQueries({ queryKey: ["groups", id] });
  await queryClient.invalidateQueries({ queryKey: groupListQuery.queryKey });
}

export async function removeMember(id: number, memberId: number): Promise<void> {
  await api.DELETE("/api/v1/groups/{id}/members/{memberId}", {
    params: { path: { id, memberId } },
  });
  await refresh();
}

export async function importMembers(
  id: number,
  parts: Readonly<Record<string, string | Blob | undefined>>,
  onProgress: (percent: number) => void,
): Promise<MemberImport> {
  const done = await upload("/api/v1/groups/{id}/members/import", parts, {
    params: { id },
    onProgress,
  });
  await refresh();
  return done;
}
