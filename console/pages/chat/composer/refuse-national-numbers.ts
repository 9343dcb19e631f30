// The API guesses no country code. The digits of a national number may begin with that of another country.
import Papa from "papaparse";
import { ApiProblem } from "../../../api/problem.ts";
import { formatCount } from "../../../ui/numbers.ts";
import { countNational } from "../../campaigns/read-audience.ts";
import type { LargeFile } from "../../campaigns/read-file.ts";
import type { ReadyDraft } from "../../campaigns/use-campaign-draft.ts";
import type { AudienceDraft } from "../../campaigns/use-audience.ts";

/** Throws an ApiProblem if a file that the server reads has numbers without their country code, also after its head. */
export async function refuseNationalNumbers(
  large: LargeFile,
  { audience, country_code }: ReadyDraft<AudienceDraft>,
): Promise<void> {
  const { phone_column, delimiter } = audience;
  let count = 0;
  await new Promise<void>((resolve, reject) => {
    Papa.parse<string[], File>(large.file, {
      delimiter,
      encoding: large.encoding,
      chunk: ({ data }) => {
        count += countNational({ rows: data, phone_column }, country_code);
      },
      complete: () => resolve(),
      error: reject,
    });
  });
  if (count === 0) return;
  const numbers = `${formatCount(count)} ${count === 1 ? "number" : "numbers"}`;
  const reason = `The file has ${numbers} without a country code. Add it, or a + before a number that has one.`;
  throw new ApiProblem(422, "validation-failed", reason, { errors: [{ field: "file", reason }] });
}
