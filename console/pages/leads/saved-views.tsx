import { useMutation, useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { savedViewsQuery, updateSavedView, type SavedView } from "../../api/saved-views.ts";
import { Button } from "../../ui/button.tsx";
import { FilterSelect } from "../../ui/filter-select.tsx";
import { FormError } from "../../ui/form-error.tsx";
import { toasts } from "../../ui/toasts.tsx";
import { readLeadsSearch, type LeadsSearch } from "./leads-search.ts";
import { EditViewDialog, SaveViewDialog } from "./saved-views-dialogs.tsx";

const route = getRouteApi("/shell/leads");

/** The filters and columns that are shown, under a name: for the user, or for everyone in the account. */
export function SavedViews({
  workspace,
  columns,
}: {
  readonly workspace: number;
  /** The headers of the columns that are shown. */
  readonly columns: readonly string[];
}) {
  const { view: id, columns: _, ...filter } = route.useSearch();
  const navigate = route.useNavigate();
  const { data: views = [], error } = useQuery(savedViewsQuery("leads"));
  const chosen = views.find((view) => view.id === id);
  const search = { ...filter, workspace };
  const update = useMutation({
    mutationFn: (view: SavedView) => updateSavedView(view.id, { search, columns: [...columns] }),
    onSuccess: (_done, { name }) => toasts.add({ title: `“${name}” saved` }),
  });
  const show = (view: SavedView | undefined) =>
    void navigate({ search: view ? { ...searchOf(view), view: view.id } : { workspace } });
  // Without a view and its columns in the address, this browser's own choice of columns is back.
  const leave = () => void navigate({ search, replace: true });
  return (
    <div className="flex flex-wrap items-center gap-2">
      <FilterSelect
        label="View"
        all="All leads"
        value={chosen?.id}
        options={views.map(({ id: value, name, shared }) => ({
          value,
          label: shared ? `${name} (shared)` : name,
        }))}
        onChange={(value) => show(views.find((view) => view.id === value))}
      />
      {chosen && isChanged(chosen, search, columns) && (
        <Button busy={update.isPending} onClick={() => update.mutate(chosen)}>
          Save changes
        </Button>
      )}
      {chosen && <EditViewDialog key={chosen.id} view={chosen} onDeleted={leave} />}
      <SaveViewDialog
        view={{ search, columns: [...columns] }}
        onSaved={(saved) => void navigate({ search: { ...search, columns, view: saved } })}
      />
      <FormError error={error ?? update.error} />
    </div>
  );
}

/** Reads what was saved as the address is read: a view may be older than the console, or another program's. */
function searchOf({ search, columns }: SavedView): LeadsSearch {
  return readLeadsSearch({ ...search, columns });
}

function isChanged(view: SavedView, search: LeadsSearch, columns: readonly string[]): boolean {
  return textOf(searchOf(view)) !== textOf({ ...search, columns });
}

/** In one order of its keys, without those that are not set. */
function textOf({ workspace, status, source, priority, agent, q, columns }: LeadsSearch): string {
  return JSON.stringify([workspace, status, source, priority, agent, q, columns]);
}
