import { useQuery } from "@tanstack/react-query";
import { customFieldsQuery } from "../../api/leads.ts";
import type { Option } from "../../ui/option.ts";

type FieldError = { readonly field: string; readonly reason: string };

const lead_fields: readonly Option[] = [
  { value: "phone", label: "Phone number" },
  { value: "name", label: "Name" },
  { value: "email", label: "Email" },
  { value: "assignedAgentId", label: "Assigned to" },
  { value: "statusId", label: "Status" },
  { value: "sourceId", label: "Source" },
  { value: "priorityId", label: "Priority" },
];

/** The fields of a lead that a column can fill, and the words for what is wrong with a row. */
export function useImportFields(workspace: number) {
  const { data: custom = [] } = useQuery(customFieldsQuery(workspace));
  const fields = [
    ...lead_fields,
    ...custom.map(({ key, label }) => ({ value: `customFields.${key}`, label })),
  ];
  const labelOf = (field: string) => fields.find(({ value }) => value === field)?.label ?? field;
  const describe = ({ field, reason }: FieldError) =>
    field === "row" ? `The row ${reason}` : `${labelOf(field)} ${reason}`;
  return { fields, labelOf, describe };
}
