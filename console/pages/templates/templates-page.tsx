import { useInfiniteQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import type { Template } from "../../api/chat.ts";
import { useRefresh } from "../../api/live.ts";
import { pagedRows } from "../../api/paged-rows.ts";
import { templateListQuery } from "../../api/templates.ts";
import { template_qualities } from "../../messages/template-statuses.ts";
import { buttonClass } from "../../ui/button.tsx";
import { DataTable, type Column } from "../../ui/data-table.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { FilterSelect } from "../../ui/filter-select.tsx";
import { FormError } from "../../ui/form-error.tsx";
import { Page } from "../../ui/page.tsx";
import { useMay } from "../../ui/permission.ts";
import { Time } from "../../ui/time.tsx";
import { SyncTemplates } from "./sync-templates.tsx";
import { TemplateStatus } from "./template-status.tsx";
import { status_options } from "./templates-search.ts";

const route = getRouteApi("/shell/chat/templates");

export const category_words: Readonly<Record<Template["category"], string>> = {
  MARKETING: "Marketing",
  UTILITY: "Utility",
  AUTHENTICATION: "Authentication",
};

const columns: readonly Column<Template>[] = [
  {
    header: "Name",
    cell: ({ id, name }) => (
      <Link
        to="/chat/templates/$id"
        params={{ id }}
        className="wrap-anywhere after:absolute after:inset-0 hover:underline"
      >
        {name}
      </Link>
    ),
  },
  { header: "State", cell: ({ status }) => <TemplateStatus status={status} /> },
  { header: "Language", cell: ({ language }) => language },
  { header: "Category", wide: true, cell: ({ category }) => category_words[category] },
  { header: "Quality", wide: true, cell: ({ quality }) => template_qualities[quality] ?? quality },
  { header: "Changed", wide: true, cell: ({ updated_at }) => <Time at={updated_at} /> },
];

export function TemplatesPage() {
  const { status } = route.useSearch();
  const navigate = route.useNavigate();
  const templates = useInfiniteQuery(templateListQuery(status));
  const mayManage = useMay("chat.manage");
  useRefresh(["chat.template.updated"], ["chat-templates"]);
  const table = pagedRows(templates);
  return (
    <Page
      title="Templates"
      text="The messages that WhatsApp has approved, or reviews, for campaigns."
      actions={mayManage && <Actions />}
    >
      <div className="flex flex-wrap gap-2">
        <FilterSelect
          label="State"
          all="Any state"
          value={status}
          options={status_options}
          onChange={(changed) => void navigate({ search: changed ? { status: changed } : {} })}
        />
      </div>
      <FormError error={templates.error} />
      {templates.isSuccess && table.rows.length === 0 ? (
        <EmptyState
          title={status ? "No template is in this state" : "No templates yet"}
          text="Submit one for WhatsApp’s approval, or fetch those that the business account already has."
        />
      ) : (
        <DataTable label="Templates" columns={columns} {...table} keyOf={({ id }) => id} />
      )}
    </Page>
  );
}

function Actions() {
  return (
    <>
      <SyncTemplates />
      <Link to="/chat/templates/new" className={buttonClass("primary")}>
        New template
      </Link>
    </>
  );
}
