import type { CustomField } from "../../api/lead-fields.ts";

export const field_types: Readonly<Record<CustomField["type"], string>> = {
  text: "Text",
  number: "Number",
  boolean: "Yes or no",
  date: "Date",
  select: "One of a list",
  multiselect: "Several of a list",
};
