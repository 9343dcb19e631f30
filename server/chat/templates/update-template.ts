import { recordAudit, type Actor } from "../../accounts/audit/record-audit.ts";
import type { Tx } from "../../lib/database/database.ts";
import { invalid, notFound } from "../../lib/errors.ts";
import { headerMediaColumns } from "./internal/header-media.ts";
import { validateTemplateValues } from "./internal/validate-template-values.ts";
import { findTemplate } from "./templates.ts";
import { plannedTemplateOf, template_columns } from "./template-schema.ts";
import type { TemplateResponse, TemplatePatch } from "./template-schema.ts";

/**
 * Changes a template's default values and header media for campaigns created from now on. Errors:
 * not-found; validation-failed for unknown keys and media that do not match the header.
 */
export async function updateTemplate(
  tx: Tx,
  actor: Actor,
  templateId: number,
  patch: TemplatePatch,
  now: Date,
): Promise<TemplateResponse> {
  const { account_id } = actor;
  const row = await tx
    .selectFrom("chat_templates")
    .select(template_columns)
    .where("account_id", "=", account_id)
    .where("id", "=", templateId)
    .forNoKeyUpdate()
    .executeTakeFirst();
  if (!row) throw notFound();
  const { variable_defaults, header_media } = patch;
  const violations = validateTemplateValues({
    ...plannedTemplateOf(row),
    variable_defaults,
    header_media,
  });
  if (violations.length > 0) throw invalid(violations);
  const media =
    header_media === undefined ? {} : await headerMediaColumns(tx, account_id, header_media, now);
  await tx
    .updateTable("chat_templates")
    .set({
      updated_at: now,
      ...(variable_defaults ? { variable_defaults: JSON.stringify(variable_defaults) } : {}),
      ...media,
    })
    .where("account_id", "=", account_id)
    .where("id", "=", templateId)
    .execute();
  await recordAudit(tx, actor, {
    at: now,
    action: "chat_template.updated",
    subject_id: templateId,
    detail: { changed: Object.keys(patch) },
  });
  return findTemplate(tx, account_id, templateId);
}
