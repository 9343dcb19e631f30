import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { contactsQuery, updateContact, type Contact } from "../../api/contacts.ts";
import { workspacesQuery } from "../../api/leads.ts";
import { pagedRows } from "../../api/paged-rows.ts";
import { DataTable, type Column } from "../../ui/data-table.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { FilterSelect } from "../../ui/filter-select.tsx";
import { FormError } from "../../ui/form-error.tsx";
import type { FormField } from "../../ui/form-fields.tsx";
import { Page } from "../../ui/page.tsx";
import { useMay } from "../../ui/permission.ts";
import { RowActions } from "../../ui/row-actions.tsx";
import { SearchField } from "../../ui/search-field.tsx";
import { Time } from "../../ui/time.tsx";

const route = getRouteApi("/shell/contacts");

const fields: readonly FormField[] = [
  { name: "name", label: "Name", kind: "text" },
  { name: "email", label: "Email", kind: "text", empty: "" },
  {
    name: "timeZone",
    label: "Time zone",
    kind: "text",
    empty: "Unknown",
    note: "Such as America/Los_Angeles. Calls keep to the calling hours there.",
  },
];

const columns: readonly Column<Contact>[] = [
  {
    header: "Name",
    cell: ({ name, phone, email }) => (
      <>
        <Link
          to="/people/$phone"
          params={{ phone }}
          className="wrap-anywhere after:absolute after:inset-0 hover:underline"
        >
          {name || phone}
        </Link>
        {email && (
          <span className="text-muted block text-xs font-normal wrap-anywhere">{email}</span>
        )}
      </>
    ),
  },
  { header: "Phone", cell: ({ phone }) => <span className="tabular-nums">{phone}</span> },
  { header: "Time zone", wide: true, cell: ({ timeZone }) => timeZone ?? "From the number" },
  { header: "Since", wide: true, cell: ({ createdAt }) => <Time at={createdAt} /> },
];

const actions: Column<Contact> = {
  header: "Action",
  cell: (contact) => (
    <RowActions
      name={contact.name || contact.phone}
      change={{ fields, known: contact, save: (json) => updateContact(contact, json) }}
    />
  ),
};

/** The people behind a workspace's leads: one for each phone number. */
export function ContactsPage() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const { data: workspaces = [], error } = useQuery(workspacesQuery);
  const workspace = search.workspace ?? workspaces[0]?.id;
  return (
    <Page title="Contacts" text="The people behind the leads: one for each phone number.">
      <FormError error={error} />
      <div className="flex flex-wrap gap-2">
        {workspaces.length > 1 && (
          <FilterSelect
            label="Workspace"
            all={workspaces[0]!.name}
            value={search.workspace}
            options={workspaces.slice(1).map(({ id, name }) => ({ value: id, label: name }))}
            onChange={(chosen) => void navigate({ search: { ...search, workspace: chosen } })}
          />
        )}
        <SearchField
          label="Name, phone or email"
          placeholder="Name, phone or email"
          value={search.q}
          onSearch={(q) => void navigate({ search: { ...search, q } })}
        />
      </div>
      {workspace !== undefined && <Contacts workspace={workspace} q={search.q} />}
    </Page>
  );
}

function Contacts({
  workspace,
  q,
}: {
  readonly workspace: number;
  readonly q: string | undefined;
}) {
  const may = useMay("crm.write");
  const contacts = useInfiniteQuery(contactsQuery(workspace, q));
  const table = pagedRows(contacts);
  if (contacts.error && !contacts.data) return <FormError error={contacts.error} />;
  if (contacts.isSuccess && table.rows.length === 0)
    return (
      <EmptyState
        title={q === undefined ? "No contacts yet" : "No contact matches"}
        text={
          q === undefined
            ? "A contact is created with the first lead of a phone number."
            : "Search for another name, phone or email."
        }
      />
    );
  return (
    <>
      <FormError error={contacts.error} />
      <DataTable
        label="Contacts"
        columns={may ? [...columns, actions] : columns}
        {...table}
        keyOf={({ id }) => id}
      />
    </>
  );
}
