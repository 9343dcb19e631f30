import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import { allRows } from "./all-rows.ts";
import type { Row, Sent } from "./answer.ts";
import { api, body } from "./client.ts";

export type User = Row<"listUsers">;
export type Role = Row<"listRoles">;
export type Invitation = Row<"listInvitations">;
export type Session = Row<"listSessions">;

export type Permissions = Sent<"createRole">["permissions"];

export const permissionsQuery = queryOptions({
  queryKey: ["permissions"],
  queryFn: async ({ signal }) => (await body(api.GET("/api/v1/permissions", { signal }))).data,
  staleTime: "static",
});

export const usersQuery = infiniteQueryOptions({
  queryKey: ["users"],
  queryFn: ({ pageParam: cursor, signal }) =>
    body(api.GET("/api/v1/users", { params: { query: { limit: 100, cursor } }, signal })),
  initialPageParam: undefined as string | undefined,
  getNextPageParam: ({ next_cursor }) => next_cursor ?? undefined,
});

/** Every user, for selects and names. */
export const allUsersQuery = queryOptions({
  queryKey: ["users", "all"],
  queryFn: ({ signal }) =>
    allRows((query) => body(api.GET("/api/v1/users", { params: { query }, signal }))),
});

export const rolesQuery = queryOptions({
  queryKey: ["roles"],
  queryFn: ({ signal }) =>
    allRows((query) => body(api.GET("/api/v1/roles", { params: { query }, signal }))),
});

export const invitationsQuery = queryOptions({
  queryKey: ["invitations"],
  queryFn: ({ signal }) =>
    allRows((query) => body(api.GET("/api/v1/invitations", { params: { query }, signal }))),
});

export const sessionsQuery = queryOptions({
  queryKey: ["sessions"],
  queryFn: async ({ signal }) => (await body(api.GET("/api/v1/sessions", { signal }))).data,
});

export const signInOptionsQuery = queryOptions({
  queryKey: ["sign-in-options"],
  queryFn: ({ signal }) => body(api.GET("/api/v1/session/options", { signal })),
});
