import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useState } from "react";
import {
  deliveriesQuery,
  eventTypesQuery,
  type Delivery,
  type DeliveryFilter,
  type EventName,
} from "../../api/callbacks.ts";
import { pagedRows } from "../../api/paged-rows.ts";
import { Badge, type Tone } from "../../ui/badge.tsx";
import { DataTable, type Column } from "../../ui/data-table.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { FilterSelect } from "../../ui/filter-select.tsx";
import { FormError } from "../../ui/form-error.tsx";
import { formatCount } from "../../ui/numbers.ts";
import { Time } from "../../ui/time.tsx";
import { DeliveryDialog } from "./delivery-dialog.tsx";
import { delivery_states } from "./developers-search.ts";

const route = getRouteApi("/shell/developers/callbacks/$id");

const tones: Readonly<Record<Delivery["state"], Tone>> = {
  pending: "busy",
  delivered: "good",
  failed: "bad",
};

const columnsOf = (onOpen: (delivery: Delivery) => void): readonly Column<Delivery>[] => [
  {
    header: "Event",
    cell: (delivery) => (
      <button
        type="button"
        aria-haspopup="dialog"
        className="cursor-pointer text-left font-mono text-xs wrap-anywhere hover:underline"
        onClick={() => onOpen(delivery)}
      >
        {delivery.type}
      </button>
    ),
  },
  {
    header: "State",
    cell: ({ state }) => (
      <Badge tone={tones[state]}>
        {delivery_states.find(({ value }) => value === state)?.label}
      </Badge>
    ),
  },
  {
    header: "Last reply",
    wide: true,
    cell: ({ last_status, last_error }) => last_error ?? last_status ?? "–",
  },
  { header: "Attempts", numeric: true, wide: true, cell: ({ attempts }) => formatCount(attempts) },
  { header: "Time", cell: ({ created_at }) => <Time at={created_at} /> },
];

/** What was sent to an endpoint, newest first. */
export function Deliveries({ id }: { readonly id: number }) {
  const filter = route.useSearch();
  const navigate = route.useNavigate();
  const deliveries = useInfiniteQuery(deliveriesQuery(id, filter));
  const { data: types = [] } = useQuery(eventTypesQuery);
  const [opened, setOpened] = useState<Delivery | null>(null);
  const table = pagedRows(deliveries);
  const change = (changed: DeliveryFilter) =>
    void navigate({ search: { ...filter, ...changed }, resetScroll: false });
  return (
    <section aria-labelledby="deliveries-heading" className="flex flex-col gap-3">
      <div className="flex flex-wrap items-center justify-between gap-2">
        <h2 id="deliveries-heading" className="font-semibold">
          Deliveries
        </h2>
        <div className="flex min-w-0 flex-wrap gap-2">
          <FilterSelect
            label="State"
            all="Any state"
            value={filter.state}
            options={delivery_states}
            onChange={(state) => change({ state })}
          />
          <FilterSelect
            label="Event"
            all="Any event"
            value={filter.type}
            options={types.map(({ type }) => ({ value: type as EventName, label: type }))}
            onChange={(type) => change({ type })}
          />
        </div>
      </div>
      <FormError error={deliveries.error} />
      {deliveries.isSuccess && table.rows.length === 0 ? (
        <EmptyState
          title="Nothing was sent"
          text="Events appear here as they are sent. Send a test to try the endpoint."
        />
      ) : (
        <DataTable
          label="Deliveries"
          columns={columnsOf(setOpened)}
          {...table}
          keyOf={(one) => one.id}
        />
      )}
      {/* Not in the row, which leaves the page when newer deliveries push it out of view. */}
      {opened && <DeliveryDialog delivery={opened} onClose={() => setOpened(null)} />}
    </section>
  );
}
