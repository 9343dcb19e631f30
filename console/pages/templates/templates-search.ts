import type { TemplateStatus } from "../../api/templates.ts";
import { template_statuses } from "../../messages/template-statuses.ts";
import type { Option } from "../../ui/option.ts";

export const status_options: readonly Option<TemplateStatus>[] = Object.entries(
  template_statuses,
).map(([value, { label }]) => ({ value: value as TemplateStatus, label }));

export function readTemplatesSearch({ status }: Record<string, unknown>): {
  readonly status?: TemplateStatus;
} {
  const known = status_options.find(({ value }) => value === status);
  return known ? { status: known.value } : {};
}
