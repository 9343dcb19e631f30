// API schemas that CSV imports of people share.
import Type from "typebox";
import { rejects_listed_max } from "./import-limits.ts";

export const csvFile = Type.String({
  format: "binary",
  description: "A CSV of at most 256 MB and 1,000,000 rows",
});

export const CsvRejects = {
  duplicate_count: Type.Integer({ description: "Rows with the number of an earlier row" }),
  rejected_count: Type.Integer({ description: "Rows that are not valid" }),
  rejects: Type.Array(
    Type.Object(
      {
        row_number: Type.Integer({ description: "Row in the file; the header is row 1" }),
        errors: Type.Array(Type.Object({ field: Type.String(), reason: Type.String() })),
      },
      { title: "CsvReject" },
    ),
    { description: `The first ${rejects_listed_max} rejected rows` },
  ),
};
