// The thread that parses an uploaded list of people.
import {
  openVariablesReader,
  runFileThread,
  type FileTerms,
  type VariableColumn,
} from "../run-file-thread.ts";
import { cellText } from "../../../lib/csv/cell-text.ts";
import { reasonAgainstCells } from "../../../lib/csv/reason-against-cells.ts";
import type { FieldError } from "../../../lib/errors.ts";
import { isLonger } from "../../../lib/csv/is-longer.ts";
import { phone_reason, readPersonPhone } from "../read-person-phone.ts";
import { member_name_characters_max, variable_characters_max } from "../import-limits.ts";
import { people_format } from "./people-format.ts";

/** How the rows of a file are read; `name_at` is -1 without a column of names. */
export type PeopleTerms = FileTerms & {
  readonly country_code: string;
  readonly name_at: number;
  readonly variables: readonly VariableColumn[];
};

await runFileThread(people_format, ({ country_code, name_at, variables }: PeopleTerms, width) => {
  const readVariables = openVariablesReader(variables);
  // A file that is read for its numbers alone has no other value that a row could shift.
  const width_max = name_at < 0 && variables.length === 0 ? Infinity : width;
  return (value, cells) => {
    const phone = readPersonPhone(value, country_code);
    const name = cellText(cells[name_at]);
    const rejected: FieldError[] = [];
    const cells_reason = reasonAgainstCells(cells, width_max);
    if (cells_reason !== null) rejected.push({ field: "row", reason: cells_reason });
    if (phone === null) rejected.push({ field: "phone_number", reason: phone_reason });
    const limit = (field: string, text: string, max: number) => {
      if (isLonger(text, max))
        rejected.push({ field, reason: `must have at most ${max} characters` });
    };
    limit("name", name, member_name_characters_max);
    for (const { name: field, at } of variables)
      limit(field, cellText(cells[at]), variable_characters_max);
    if (phone === null || rejected.length > 0) return { rejected };
    return { phone, name: name || null, variables: readVariables(cells).variables };
  };
});
