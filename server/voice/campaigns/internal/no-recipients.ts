import type { IntakeSummary } from "../../../audience/recipients/recipient-source.ts";
import { invalidField, type Refusal } from "../../../lib/errors.ts";
import type { SendTo } from "../voice-campaign-schema.ts";

const fields: Readonly<Record<SendTo, string>> = {
  Numbers: "number",
  csv: "file",
  Group: "groupId",
};

/** The refusal of a campaign without any recipient; says what was rejected. */
export function noRecipients(
  sendTo: SendTo,
  { invalid, duplicate, rejects }: IntakeSummary,
): Refusal {
  if (invalid + duplicate === 0) return invalidField(fields[sendTo], "names nobody to call");
  return invalidField(
    fields[sendTo],
    `leaves nobody to call: ${invalid} rejected; row ${rejects.rows[0]} ${rejects.reasons[0]}`,
  );
}
