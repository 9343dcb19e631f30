import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import type { Answer, Row } from "./answer.ts";
import { api, body } from "./client.ts";

export type Account = Answer<"readAccount">;

export const accountQuery = queryOptions({
  queryKey: ["account"],
  queryFn: ({ signal }) => body(api.GET("/api/v1/account", { signal })),
});

export const creditsQuery = queryOptions({
  queryKey: ["credits"],
  queryFn: ({ signal }) => body(api.GET("/api/v1/credits", { signal })),
});

export type Transfer = Row<"listCreditLedger">;
export type LedgerFilter = {
  readonly kind?: Transfer["kind"];
  readonly type?: Transfer["type"];
  /** Days in the account's time zone. */
  readonly from?: string;
  readonly to?: string;
};

export const ledgerQuery = (filter: LedgerFilter) =>
  infiniteQueryOptions({
    queryKey: ["credits", "ledger", filter],
    queryFn: ({ pageParam: cursor, signal }) =>
      body(
        api.GET("/api/v1/credits/ledger", {
          params: { query: { limit: 100, ...filter, cursor } },
          signal,
        }),
      ),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next_cursor }) => next_cursor ?? undefined,
  });

export type AuditEntry = Row<"listAudit">;
export type AuditFilter = {
  readonly action?: string;
  readonly user_id?: number;
  readonly from?: string;
  readonly to?: string;
};

export const auditQuery = (filter: AuditFilter) =>
  infiniteQueryOptions({
    queryKey: ["audit", filter],
    queryFn: ({ pageParam: cursor, signal }) =>
      body(
        api.GET("/api/v1/audit", { params: { query: { limit: 100, ...filter, cursor } }, signal }),
      ),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next_cursor }) => next_cursor ?? undefined,
  });
