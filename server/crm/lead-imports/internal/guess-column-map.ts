// Guesses which columns of a CSV provide which fields of a lead.
import { readCountryPhone } from "../../../audience/intake/read-person-phone.ts";
import { cellText } from "../../../lib/csv/cell-text.ts";
import type { WorkspaceSchema } from "../../workspaces/workspace-schema.ts";
import type { ColumnMap } from "./column-map.ts";

/** Usual headers of each field, as plainText returns them, the best first. */
const usual_headers: Readonly<Record<string, readonly string[]>> = {
  phone: [
    "phone",
    "phonenumber",
    "phoneno",
    "mobile",
    "mobilenumber",
    "mobileno",
    "mobilephone",
    "whatsapp",
    "whatsappnumber",
    "contactnumber",
    "msisdn",
    "number",
    "cell",
    "telephone",
    "tel",
  ],
  name: ["name", "fullname", "leadname", "customername", "customer", "contactname"],
  email: ["email", "emailaddress", "emailid", "mail"],
  assignedAgentId: [
    "assignedagentid",
    "assignedagentemail",
    "assignedto",
    "assignedagent",
    "agent",
    "owner",
  ],
  statusId: ["statusid", "status", "leadstatus", "stage"],
  sourceId: ["sourceid", "source", "leadsource"],
  priorityId: ["priorityid", "priority"],
};

/**
 * Returns the map for columns with a usual header or the key or label of a custom field. Without such a header for
 * the phone, it is the first column whose cells in `rows` are all phone numbers. No column provides two fields.
 */
export function guessColumnMap(
  header: readonly string[],
  rows: readonly { readonly cells: readonly string[] }[],
  schema: WorkspaceSchema,
  countryCode: string,
): ColumnMap {
  const plain = header.map(plainText);
  const free = new Set(
    header.filter(
      (name, at) =>
        name !== "" &&
        header.indexOf(name) === header.lastIndexOf(name) &&
        plain.indexOf(plain[at]!) === at,
    ),
  );
  const map: Record<string, string> = {};
  const give = (field: string, name: string | undefined) => {
    if (name !== undefined && free.delete(name)) map[field] = name;
  };
  const custom = [...schema.fields.values()].map(
    ({ key, label }) =>
      [`customFields.${key}`, [`customFields.${key}`, key, label].map(plainText)] as const,
  );
  // A custom field has exactly the workspace's words: "mobile" is not the phone if a field has that name.
  for (const [field, names] of [...custom, ...Object.entries(usual_headers)]) {
    const found = names.find((name) => free.has(header[plain.indexOf(name)] ?? ""));
    if (found !== undefined) give(field, header[plain.indexOf(found)]);
  }
  if (!map["phone"]) {
    const isPhones = (name: string) => {
      const cells = rows.map((row) => cellText(row.cells[header.indexOf(name)]));
      return (
        cells.length > 0 && cells.every((cell) => readCountryPhone(cell, countryCode) !== null)
      );
    };
    give("phone", [...free].find(isPhones));
  }
  return map;
}

/** Small letters and digits only: "Phone number" equals "phone_number". */
function plainText(text: string): string {
  return text.toLowerCase().replaceAll(/[^\p{L}\p{N}]/gu, "");
}
