// What the answers to uploaded lists of people have in common.
import Type from "typebox";
import { rejects_told_max } from "./import-limits.ts";

export const csvFile = Type.String({
  format: "binary",
  description: "A CSV of at most 256 MB and 1,000,000 rows",
});

export const CsvRejects = {
  duplicate_count: Type.Integer({ description: "Rows with a number of an earlier row" }),
  rejected_count: Type.Integer({ description: "Rows left out for what is wrong with them" }),
  rejects: Type.Array(
    Type.Object({
      row_number: Type.Integer({ description: "In the file; the header is row 1" }),
      errors: Type.Array(Type.Object({ field: Type.String(), reason: Type.String() })),
    }),
    { description: `The first ${rejects_told_max} of them` },
  ),
};
