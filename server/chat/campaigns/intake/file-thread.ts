// The thread of an uploaded file of chat recipients.
import {
  openVariablesReader,
  runFileThread,
  type FileTerms,
  type VariableColumn,
} from "../../../audience/intake/run-file-thread.ts";
import { openPhoneReader } from "../../../lib/chat-phone-numbers.ts";
import { reasonAgainstCells } from "../../../lib/csv/reason-against-cells.ts";
import { chat_format, recipientOf } from "./recipient-format.ts";

/** How the rows of a file are parsed. */
export type ChatFileTerms = FileTerms & {
  readonly valid_only: boolean;
  readonly variables: readonly VariableColumn[];
};

await runFileThread(chat_format, ({ valid_only, variables }: ChatFileTerms, width) => {
  const readPhone = openPhoneReader({ valid_only });
  const readVariables = openVariablesReader(variables);
  return (value, cells) =>
    reasonAgainstCells(cells, width) === null
      ? recipientOf(readPhone, value, readVariables(cells).variables)
      : { rejected: "invalid" };
});
