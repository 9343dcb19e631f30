// The thread that parses an uploaded file of voice recipients.
import { readCountryPhone } from "../../../audience/intake/read-person-phone.ts";
import {
  openVariablesReader,
  runFileThread,
  type FileTerms,
  type VariableColumn,
} from "../../../audience/intake/run-file-thread.ts";
import { reasonAgainstCells } from "../../../lib/csv/reason-against-cells.ts";
import { localNumber, recipientOf, voice_format } from "./recipient-format.ts";

/** How the rows of a file are read. */
export type VoiceFileTerms = FileTerms & {
  readonly country_code: string;
  readonly variables: readonly VariableColumn[];
};

await runFileThread(voice_format, ({ country_code, variables }: VoiceFileTerms, width) => {
  const readVariables = openVariablesReader(variables);
  return (value, cells) => {
    const rejected = reasonAgainstCells(cells, width);
    if (rejected !== null) return { rejected };
    const phone = readCountryPhone(value, country_code);
    const number = phone === null ? "" : localNumber(phone, country_code);
    return recipientOf(phone, number, readVariables(cells));
  };
});
