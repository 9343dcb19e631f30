import { useInfiniteQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { endpointsQuery, type Endpoint } from "../../api/callbacks.ts";
import { useRefresh } from "../../api/live.ts";
import { pagedRows } from "../../api/paged-rows.ts";
import { Button } from "../../ui/button.tsx";
import { DataTable, type Column } from "../../ui/data-table.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { FormError } from "../../ui/form-error.tsx";
import { Page } from "../../ui/page.tsx";
import { useMay } from "../../ui/permission.ts";
import { Time } from "../../ui/time.tsx";
import { EndpointDialog } from "./endpoint-dialog.tsx";
import { EndpointState } from "./endpoint-state.tsx";

const columns: readonly Column<Endpoint>[] = [
  {
    header: "URL",
    cell: ({ id, url, description, kind }) => (
      <>
        <Link
          to="/developers/callbacks/$id"
          params={{ id }}
          className="wrap-anywhere after:absolute after:inset-0 hover:underline"
        >
          {url}
        </Link>
        <span className="text-muted block text-xs font-normal wrap-anywhere">
          {kind === "campaign" ? "Of voice campaigns" : description}
        </span>
      </>
    ),
  },
  { header: "State", cell: (endpoint) => <EndpointState endpoint={endpoint} /> },
  {
    header: "Events",
    wide: true,
    cell: ({ types }) => (types === null ? "All" : `${types.length} types`),
  },
  { header: "Created", wide: true, cell: ({ created_at }) => <Time at={created_at} /> },
];

/** Where the account's events are sent. */
export function CallbacksPage() {
  const endpoints = useInfiniteQuery(endpointsQuery);
  useRefresh(["callback.endpoint.disabled"], ["callback-endpoints"]);
  const mayManage = useMay("callbacks.manage");
  const table = pagedRows(endpoints);
  const add = mayManage && (
    <EndpointDialog endpoint={null} trigger={<Button kind="primary">New endpoint</Button>} />
  );
  return (
    <Page
      title="Callbacks"
      text="Events are sent to your own programs as they happen, signed and repeated until they arrive."
      actions={add}
    >
      <FormError error={endpoints.error} />
      {endpoints.isSuccess && table.rows.length === 0 ? (
        <EmptyState
          title="No endpoints yet"
          text="An endpoint is a URL of your program. It receives the events that you choose."
        >
          {add}
        </EmptyState>
      ) : (
        <DataTable label="Callback endpoints" columns={columns} {...table} keyOf={({ id }) => id} />
      )}
    </Page>
  );
}
