import { copyText } from "../../../lib/csv/copy-line.ts";
import type { FieldError } from "../../../lib/errors.ts";
import type { Recipient, RecipientFormat } from "../open-intake.ts";
import { rejects_listed_max } from "../import-limits.ts";

/** The recipient format of staged people. */
export const people_format: RecipientFormat<
  Recipient & { readonly name: string | null },
  readonly FieldError[]
> = {
  copy_sql: "copy people (phone, name, variables) from stdin",
  columnsOf: ({ phone, name, variables }) =>
    `${phone}\t${copyText(name)}\t${copyText(variables ?? "{}")}`,
  rejects_max: rejects_listed_max,
  duplicate_reason: null,
};
