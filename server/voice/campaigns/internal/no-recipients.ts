import type { IntakeSummary } from "../../../audience/recipients/recipient-source.ts";
import { invalidField, type Refusal } from "../../../lib/errors.ts";
import type { SendTo } from "../voice-campaign-schema.ts";

const fields: Readonly<Record<SendTo, string>> = {
  Numbers: "number",
  csv: "file",
  Group: "groupId",
};

/** Returns the refusal of a campaign without valid recipients, with the first rejected row. */
export function noRecipients(
  sendTo: SendTo,
  { invalid, duplicate, rejects }: IntakeSummary,
): Refusal {
  if (invalid + duplicate === 0)
    return invalidField(fields[sendTo], "must have at least one recipient");
  return invalidField(
    fields[sendTo],
    `must have at least one valid recipient: ${invalid} rejected; row ${rejects.rows[0]} ${rejects.reasons[0]}`,
  );
}
