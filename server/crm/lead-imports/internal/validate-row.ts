// Validates one row of a CSV as a new lead, and reports every violation.
import { fullFormats } from "ajv-formats/dist/formats.js";
import { readCountryPhone } from "../../../audience/intake/read-person-phone.ts";
import { cellText } from "../../../lib/csv/cell-text.ts";
import { reasonAgainstCells } from "../../../lib/csv/reason-against-cells.ts";
import type { FieldError } from "../../../lib/errors.ts";
import { isLonger } from "../../../lib/csv/is-longer.ts";
import { tenDigitsOfPhone } from "../../../lib/phone-numbers.ts";
import { validateLead } from "../../leads/validate-lead.ts";
import type { NewLead } from "../../leads/lead-schema.ts";
import type { Picklist, WorkspaceSchema } from "../../workspaces/workspace-schema.ts";
import { customValue, type FindOption } from "../../leads/read-cell.ts";

/** The context that the rows of one batch are validated in. */
export type RowContext = {
  readonly schema: WorkspaceSchema;
  readonly country_code: string;
  /** Number of columns in the header. */
  readonly width: number;
  /** Position of each mapped field's column. */
  readonly columns: ReadonlyMap<string, number>;
  readonly findOption: FindOption;
  /** Returns the active user with an ID or a lower-case email address, or undefined. */
  readonly findAgent: (text: string) => number | undefined;
};

/** The API's format, so that an import accepts the same addresses. */
const email_format = fullFormats.email as RegExp;

export function validateRow(
  validate: RowContext,
  cells: readonly string[],
): { lead: NewLead } | { errors: FieldError[] } {
  const errors: FieldError[] = [];
  const cells_reason = reasonAgainstCells(cells, validate.width);
  if (cells_reason !== null) errors.push({ field: "row", reason: cells_reason });
  const read = (field: string): string | null => {
    const at = validate.columns.get(field);
    const text = at === undefined ? "" : cellText(cells[at]);
    return text === "" ? null : text;
  };
  const fail = (field: string, reason: string) => void errors.push({ field, reason });

  const phone = readPhone(validate, read("phone"), fail);
  const name = read("name");
  if (name !== null && isLonger(name, 255)) fail("name", "must have at most 255 characters");
  const email = read("email");
  if (email !== null && !email_format.test(email)) fail("email", "must be a valid email address");
  else if (email !== null && isLonger(email, 254))
    fail("email", "must have at most 254 characters");

  const agent = read("assignedAgentId");
  const assignedAgentId = agent === null ? null : validate.findAgent(agent.toLowerCase());
  if (assignedAgentId === undefined) fail("assignedAgentId", "must name an active user");

  const option = (field: string, picklist: Picklist): number | null => {
    const text = read(field);
    const id = text === null ? null : validate.findOption(picklist, text);
    if (text !== null && id === null) fail(field, `is not a ${picklist} option of this workspace`);
    return id;
  };
  const lead: NewLead = {
    phone,
    name,
    email,
    assignedAgentId: assignedAgentId ?? null,
    statusId: option("statusId", "status"),
    sourceId: option("sourceId", "source"),
    priorityId: option("priorityId", "priority"),
    customFields: readCustomFields(validate, read),
  };
  errors.push(...validateLead(validate.schema, lead));
  return errors.length > 0 ? { errors } : { lead };
}

function readPhone(
  validate: RowContext,
  text: string | null,
  fail: (field: string, reason: string) => void,
): string {
  if (text === null) {
    fail("phone", "is required");
    return "";
  }
  const phone = readCountryPhone(text, validate.country_code);
  const digits = phone === null ? null : tenDigitsOfPhone(phone, validate.country_code);
  if (digits === null) {
    fail("phone", `must be 10 digits, with or without +${validate.country_code} or 0 before them`);
  }
  return digits ?? "";
}

const custom_prefix = "customFields.";

/** Includes fields that were archived since the upload, so that validateLead reports them. */
function readCustomFields(
  { schema, columns }: RowContext,
  read: (field: string) => string | null,
): Record<string, unknown> {
  const values: [string, unknown][] = [];
  for (const name of columns.keys()) {
    if (!name.startsWith(custom_prefix)) continue;
    const key = name.slice(custom_prefix.length);
    const field = schema.fields.get(key);
    const text = read(name);
    if (text !== null) values.push([key, field ? customValue(field, text) : text]);
  }
  return Object.fromEntries(values);
}
