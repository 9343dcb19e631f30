import { recordAudit, type Actor } from "../../accounts/audit/record-audit.ts";
import type { Tx } from "../../lib/database/database.ts";
import { invalid, notFound } from "../../lib/errors.ts";
import { headerMediaOf } from "./internal/header-media.ts";
import { validateTemplateValues } from "./internal/validate-template-values.ts";
import { findTemplate } from "./templates.ts";
import { plannedTemplateOf, template_columns } from "./template-schema.ts";
import type { TemplateAnswer, TemplatePatch } from "./template-schema.ts";

/**
 * Changes what fills a template's placeholders and its media header, for campaigns made from now on.
 * Refuses: not-found; validation-failed for keys that it has not and media that do not fit.
 */
export async function updateTemplate(
  tx: Tx,
  actor: Actor,
  templateId: number,
  patch: TemplatePatch,
  now: Date,
): Promise<TemplateAnswer> {
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
  const media = headerMediaOf(header_media);
  await tx
    .updateTable("chat_templates")
    .set({
      updated_at: now,
      ...(variable_defaults ? { variable_defaults: JSON.stringify(variable_defaults) } : {}),
      ...(header_media === undefined ? {} : { header_media: media && JSON.stringify(media) }),
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
