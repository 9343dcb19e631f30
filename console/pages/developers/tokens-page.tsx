import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { pagedRows } from "../../api/paged-rows.ts";
import { tokensQuery, type Token } from "../../api/tokens.ts";
import { allUsersQuery } from "../../api/users.ts";
import { Badge } from "../../ui/badge.tsx";
import { buttonClass } from "../../ui/button.tsx";
import { DataTable, type Column } from "../../ui/data-table.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { FormError } from "../../ui/form-error.tsx";
import { Page } from "../../ui/page.tsx";
import { useMay } from "../../ui/permission.ts";
import { Time } from "../../ui/time.tsx";
import { NewTokenDialog } from "./new-token-dialog.tsx";
import { TokenActions } from "./token-actions.tsx";

const columnsOf = (users: ReadonlyMap<number, string>): readonly Column<Token>[] => [
  {
    header: "Name",
    cell: ({ name, kind, user_id }) => (
      <>
        <span className="wrap-anywhere">{name}</span>
        <span className="text-muted block text-xs font-normal">
          {kind === "account"
            ? "As the account's owner"
            : `As ${users.get(user_id) ?? `user ${user_id}`}`}
        </span>
      </>
    ),
  },
  { header: "State", cell: (token) => <State token={token} /> },
  { header: "May", wide: true, cell: ({ scopes }) => <Scopes scopes={scopes} /> },
  {
    header: "Last used",
    wide: true,
    cell: ({ last_used_at }) => (last_used_at === null ? "Never" : <Time at={last_used_at} />),
  },
  {
    header: "Expires",
    wide: true,
    cell: ({ expires_at }) => (expires_at === null ? "Never" : <Time at={expires_at} />),
  },
  {
    header: "Action",
    cell: (token) => (token.revoked_at === null ? <TokenActions token={token} /> : "–"),
  },
];

/** The tokens by which programs use the API. */
export function TokensPage() {
  const tokens = useInfiniteQuery(tokensQuery);
  const table = pagedRows(tokens);
  const mayReadUsers = useMay("users.read", "users.manage");
  const { data: users = [] } = useQuery({ ...allUsersQuery, enabled: mayReadUsers });
  return (
    <Page
      title="API tokens"
      text="Programs use the API with a token. Give each program its own, with only what it needs."
      actions={
        <>
          <a href="/docs" className={buttonClass()}>
            API reference
          </a>
          <NewTokenDialog />
        </>
      }
    >
      <FormError error={tokens.error} />
      {tokens.isSuccess && table.rows.length === 0 ? (
        <EmptyState title="No tokens yet" text="Create one for each program that uses the API." />
      ) : (
        <DataTable
          label="API tokens"
          columns={columnsOf(new Map(users.map(({ id, name }) => [id, name])))}
          {...table}
          keyOf={({ id }) => id}
        />
      )}
    </Page>
  );
}

function State({ token: { revoked_at, expires_at } }: { readonly token: Token }) {
  if (revoked_at !== null) return <Badge tone="neutral">Revoked</Badge>;
  const isOver = expires_at !== null && Date.parse(expires_at) <= Date.now();
  return <Badge tone={isOver ? "neutral" : "good"}>{isOver ? "Expired" : "Active"}</Badge>;
}

const shown_max = 3;

function Scopes({ scopes }: Pick<Token, "scopes">) {
  if (scopes === null) return "Everything its user may";
  const more = scopes.length - shown_max;
  return (
    <span title={scopes.join(", ")} className="wrap-anywhere">
      {scopes.slice(0, shown_max).join(", ")}
      {more > 0 && ` and ${more} more`}
    </span>
  );
}
