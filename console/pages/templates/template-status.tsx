import type { Template } from "../../api/chat.ts";
import { template_statuses } from "../../messages/template-statuses.ts";
import { Badge } from "../../ui/badge.tsx";

export function TemplateStatus({ status }: Pick<Template, "status">) {
  const { label, tone } = template_statuses[status];
  return <Badge tone={tone}>{label}</Badge>;
}
