import type { Kysely } from "kysely";
import { validateScript, placeholdersOf } from "../../calls/state-machine/script-text.ts";
import type { DB } from "../../lib/database/database.ts";
import type { FieldError } from "../../lib/errors.ts";
import { fieldsOf, validateReferences } from "./validate-content.ts";

/** Validates the body of a voice file or a patch beyond the schema; the body may have any shape. */
export async function validateVoiceFile(
  db: Kysely<DB>,
  accountId: number,
  body: unknown,
): Promise<FieldError[]> {
  const { text, script, menu_id, ai_agent_id } = fieldsOf(body) ?? {};
  const violations: FieldError[] = [];
  const reason = typeof script === "string" ? validateScript(script) : null;
  if (reason !== null) violations.push({ field: "script", reason });
  // The text is synthesized once, without a recipient's values.
  if (typeof text === "string" && placeholdersOf(text).length > 0)
    violations.push({
      field: "text",
      reason: "must not contain {{variables}}; use script for text that differs by recipient",
    });
  const unknown = await validateReferences(db, accountId, [
    { field: "menu_id", kind: "menu", value: menu_id },
    { field: "ai_agent_id", kind: "ai_agent", value: ai_agent_id },
  ]);
  return [...violations, ...unknown];
}

/** Validates that a body without an upload has other content. */
export function validateSource(body: unknown): FieldError[] {
  const fields = fieldsOf(body) ?? {};
  const sources = ["text", "script", "menu_id", "ai_agent_id"];
  if (sources.some((name) => fields[name] !== undefined && fields[name] !== null)) return [];
  const reason = "is required, unless there is a script, menu_id or ai_agent_id; or upload a file";
  return [{ field: "text", reason }];
}
