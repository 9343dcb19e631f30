import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import type { Template } from "../../api/chat.ts";
import { useRefresh } from "../../api/live.ts";
import { deleteTemplate, templateQuery } from "../../api/templates.ts";
import {
  rejection_reasons,
  template_qualities,
  template_statuses,
} from "../../messages/template-statuses.ts";
import { Button, buttonClass } from "../../ui/button.tsx";
import { ConfirmDialog } from "../../ui/confirm-dialog.tsx";
import { FormError } from "../../ui/form-error.tsx";
import { Page } from "../../ui/page.tsx";
import { Panel } from "../../ui/panel.tsx";
import { useMay } from "../../ui/permission.ts";
import { Phone } from "../../ui/phone.tsx";
import { Time } from "../../ui/time.tsx";
import { RenderedBubble } from "../chat/template-bubble.tsx";
import { DefaultsDialog } from "./defaults-dialog.tsx";
import { HeaderMedia } from "./header-media.tsx";
import { TemplateStatus } from "./template-status.tsx";
import { TestDialog } from "./test-dialog.tsx";
import { UsedIn } from "./used-in.tsx";
import { category_words } from "./templates-page.tsx";

const route = getRouteApi("/shell/chat/templates/$id");

export function TemplatePage() {
  const { id } = route.useParams();
  const { data: template, error } = useQuery(templateQuery(id));
  useRefresh(["chat.template.updated"], ["chat-templates"]);
  const may_manage_campaigns = useMay("chat.campaigns.manage");
  const may_see_campaigns = useMay("chat.read") || may_manage_campaigns;
  return (
    <Page
      title={
        template ? (
          <span className="flex flex-wrap items-center gap-3 wrap-anywhere">
            {template.name} <TemplateStatus status={template.status} />
          </span>
        ) : (
          "Template"
        )
      }
      actions={template && <Actions template={template} />}
    >
      <FormError error={error} />
      {template && (
        <div className="grid items-start gap-6 lg:grid-cols-[1fr_19rem]">
          <div className="flex flex-col gap-6">
            <Details template={template} />
            <HeaderMedia template={template} />
            {may_see_campaigns && <UsedIn templateId={id} />}
          </div>
          <aside aria-label="Preview">
            <Phone title="WhatsApp">
              <RenderedBubble template={template} variables={examplesOf(template)} />
            </Phone>
          </aside>
        </div>
      )}
    </Page>
  );
}

/** A variable without a default is shown by its name. */
const examplesOf = ({ variables, variable_defaults }: Template) => ({
  ...Object.fromEntries(variables.map(({ key }) => [key, `{{${key}}}`])),
  ...variable_defaults,
});

function Details({ template }: { readonly template: Template }) {
  const { status, rejection_reason, unsupported, variables } = template;
  return (
    <Panel title="Details">
      <p>{template_statuses[status].text}</p>
      {rejection_reason !== null && (
        <p className="bg-danger-soft text-danger rounded-lg p-3">
          {rejection_reasons[rejection_reason] ?? `WhatsApp’s reason: ${rejection_reason}`}
        </p>
      )}
      {unsupported !== null && (
        <p className="bg-warning-soft text-warning rounded-lg p-3">
          Campaigns cannot use it: they cannot fill its {unsupported}.
        </p>
      )}
      <dl className="grid grid-cols-[auto_1fr] gap-x-6 gap-y-2">
        <dt className="text-muted">Language</dt>
        <dd>{template.language}</dd>
        <dt className="text-muted">Category</dt>
        <dd>{category_words[template.category]}</dd>
        <dt className="text-muted">Quality</dt>
        <dd>{template_qualities[template.quality] ?? template.quality}</dd>
        <dt className="text-muted">Variables</dt>
        <dd>
          {variables.length === 0
            ? "None"
            : variables
                .map(({ key, required }) => (required ? key : `${key} (has a default)`))
                .join(", ")}
        </dd>
        <dt className="text-muted">Changed</dt>
        <dd>
          <Time at={template.updated_at} />
        </dd>
      </dl>
    </Panel>
  );
}

function Actions({ template }: { readonly template: Template }) {
  const { id, name, status } = template;
  const mayManage = useMay("chat.manage");
  const maySend = useMay("chat.campaigns.create");
  const navigate = useNavigate();
  return (
    <>
      {mayManage && <DefaultsDialog template={template} />}
      {mayManage && (
        <ConfirmDialog
          title={`Delete ${name}?`}
          text="It is deleted in all its languages, also at WhatsApp, which does not accept its name again for 30 days."
          action="Delete"
          trigger={<Button>Delete</Button>}
          act={async () => {
            await deleteTemplate(id);
            await navigate({ to: "/chat/templates" });
          }}
        />
      )}
      {maySend && status === "APPROVED" && <TestDialog template={template} />}
      {maySend && status === "APPROVED" && (
        <Link to="/chat/campaigns/new" search={{ template: id }} className={buttonClass("primary")}>
          New campaign
        </Link>
      )}
    </>
  );
}
