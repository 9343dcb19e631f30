import { useInfiniteQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { pagedRows } from "../../api/paged-rows.ts";
import {
  suppressionListQuery,
  type Suppression,
  type SuppressionFilter,
} from "../../api/suppressions.ts";
import { Button } from "../../ui/button.tsx";
import { DataTable } from "../../ui/data-table.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { ExportLink } from "../../ui/export-link.tsx";
import { FilterSelect } from "../../ui/filter-select.tsx";
import { FormError } from "../../ui/form-error.tsx";
import { Page } from "../../ui/page.tsx";
import { useMay } from "../../ui/permission.ts";
import { SearchField } from "../../ui/search-field.tsx";
import { AddSuppressionsDialog } from "./add-suppressions-dialog.tsx";
import { suppressionColumns } from "./suppression-columns.tsx";
import { channel_options, scope_options, source_options } from "./suppressions-search.ts";

const route = getRouteApi("/shell/suppressions");

export function SuppressionsPage() {
  const filter = route.useSearch();
  const navigate = route.useNavigate();
  const may_manage = useMay("suppressions.manage");
  const list = useInfiniteQuery(suppressionListQuery(filter));
  const table = pagedRows(list);
  const change = (changed: {
    [Key in keyof SuppressionFilter]: SuppressionFilter[Key] | undefined;
  }) => void navigate({ search: { ...filter, ...changed } as SuppressionFilter });
  return (
    <Page
      title="Suppressions"
      text="People who must not be written to or called. Campaigns and click-to-call leave them out."
      actions={
        <>
          <ExportLink
            path="/api/v1/suppressions/export"
            filter={filter}
            permission={["suppressions.read", "suppressions.manage"]}
          />
          {may_manage && <AddSuppressionsDialog />}
        </>
      }
    >
      <Filters filter={filter} change={change} />
      <FormError error={list.error} />
      {list.isSuccess && table.rows.length === 0 ? (
        <NoSuppressions
          filtered={Object.keys(filter).length > 0}
          clear={() => void navigate({ search: {} })}
        />
      ) : (
        (list.data || !list.error) && (
          <DataTable<Suppression>
            label="Suppressions"
            columns={suppressionColumns(may_manage)}
            {...table}
            keyOf={({ id }) => id}
          />
        )
      )}
    </Page>
  );
}

function Filters({
  filter,
  change,
}: {
  readonly filter: SuppressionFilter;
  readonly change: (changed: {
    [Key in keyof SuppressionFilter]: SuppressionFilter[Key] | undefined;
  }) => void;
}) {
  return (
    <div className="flex flex-wrap gap-2">
      <SearchField
        label="Number"
        placeholder="Number"
        value={filter.phone_number}
        onSearch={(phone_number) => change({ phone_number })}
      />
      <FilterSelect
        label="Channel"
        all="Any channel"
        value={filter.channel}
        options={channel_options}
        onChange={(channel) => change({ channel })}
      />
      <FilterSelect
        label="Scope"
        all="Any scope"
        value={filter.scope}
        options={scope_options}
        onChange={(scope) => change({ scope })}
      />
      <FilterSelect
        label="Source"
        all="Any source"
        value={filter.source}
        options={source_options}
        onChange={(source) => change({ source })}
      />
      <FilterSelect
        label="State"
        all="In force or expired"
        value={filter.active === undefined ? undefined : String(filter.active)}
        options={[
          { value: "true", label: "In force" },
          { value: "false", label: "Expired" },
        ]}
        onChange={(active) =>
          change({ active: active === undefined ? undefined : active === "true" })
        }
      />
    </div>
  );
}

function NoSuppressions({
  filtered,
  clear,
}: {
  readonly filtered: boolean;
  readonly clear: () => void;
}) {
  return filtered ? (
    <EmptyState title="Nothing matches" text="No suppression matches these filters.">
      <Button onClick={clear}>Clear filters</Button>
    </EmptyState>
  ) : (
    <EmptyState
      title="Nobody is suppressed"
      text="Who replies STOP, presses the opt-out key in a call or opts out in WhatsApp appears here by itself."
    />
  );
}
