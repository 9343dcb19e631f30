import type { Kysely } from "kysely";
import { validateScript } from "../../calls/state-machine/script-text.ts";
import type { AiAgentDrivers } from "../../drivers/ai-agent/driver.ts";
import type { DB } from "../../lib/database/database.ts";
import type { FieldError } from "../../lib/errors.ts";
import {
  fieldsOf,
  isGiven,
  validateReferences,
  validateTransfer,
  referencesOfTransfer,
  type Fields,
} from "../files/validate-content.ts";
import { validateRehearsals } from "./rehearsal-schema.ts";

/**
 * Validates the body of an AI agent beyond the schema; the body may have any shape. For a patch, pass the
 * stored fields merged with the patch.
 */
export async function validateAiAgent(
  db: Kysely<DB>,
  accountId: number,
  drivers: AiAgentDrivers,
  body: unknown,
): Promise<FieldError[]> {
  const agent = fieldsOf(body);
  if (!agent) return [];
  const to = agent["transfer_to"];
  return [
    ...validateDriver(agent, drivers),
    ...["greeting", "instructions", "fallback", "closing"].flatMap((name) =>
      validateText(name, agent[name]),
    ),
    ...listOf(agent["rules"]).flatMap((rule, i) => validateRule(`rules.${i}`, rule, agent)),
    ...validateFields(listOf(agent["fields"])),
    ...validateRehearsals(agent["rehearsals"]),
    ...validateTransfer("transfer_to", to),
    ...(await validateReferences(db, accountId, referencesOfTransfer("transfer_to", to))),
  ];
}

/** Validates the driver; every installation has the scripted one. */
function validateDriver(agent: Fields, drivers: AiAgentDrivers): FieldError[] {
  if (agent["driver"] !== "realtime") return [];
  if (!drivers.realtime)
    return [{ field: "driver", reason: "must be scripted: no realtime server is configured" }];
  if (isGiven(agent, "instructions")) return [];
  return [{ field: "instructions", reason: "is required when driver is realtime" }];
}

function validateRule(at: string, rule: unknown, agent: Fields): FieldError[] {
  const fields = fieldsOf(rule);
  if (!fields) return [];
  const violations = validateText(`${at}.say`, fields["say"]);
  const { keys, keywords } = fields;
  if ((keys ?? "") === "" && listOf(keywords).length === 0)
    violations.push({ field: `${at}.keys`, reason: "is required without keywords" });
  if (fields["then"] === "transfer" && !isGiven(agent, "transfer_to"))
    violations.push({ field: `${at}.then`, reason: "must not be transfer without transfer_to" });
  const { field: noted, value } = fieldsOf(fields["set"]) ?? {};
  const known = listOf(agent["fields"]).map((field) => fieldsOf(field)?.["key"]);
  if (typeof noted === "string" && !known.includes(noted))
    violations.push({ field: `${at}.set.field`, reason: "must be the key of one of fields" });
  return [...violations, ...validateText(`${at}.set.value`, value)];
}

function validateFields(fields: readonly unknown[]): FieldError[] {
  const keys = fields.map((field) => fieldsOf(field)?.["key"]);
  return fields.flatMap((field, i) => {
    const isRepeated = typeof keys[i] === "string" && keys.indexOf(keys[i]) < i;
    const repeated = isRepeated ? [{ field: `fields.${i}.key`, reason: "must be unique" }] : [];
    return [...repeated, ...validateText(`fields.${i}.question`, fieldsOf(field)?.["question"])];
  });
}

function validateText(field: string, text: unknown): FieldError[] {
  const reason = typeof text === "string" ? validateScript(text) : null;
  return reason === null ? [] : [{ field, reason }];
}

/** Returns at most the number of items that the schema allows, because a large body could contain very many. */
function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value.slice(0, 50) : [];
}
