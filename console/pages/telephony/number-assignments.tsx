import { useQuery } from "@tanstack/react-query";
import {
  assignNumber,
  numberAssignmentsQuery,
  unassignNumber,
  type NumberAssignment,
} from "../../api/telephony.ts";
import { Button } from "../../ui/button.tsx";
import type { Column } from "../../ui/data-table.tsx";
import { FormDialog } from "../../ui/form-dialog.tsx";
import type { FormField } from "../../ui/form-fields.tsx";
import { ListSection } from "../../ui/list-section.tsx";
import { RowActions } from "../../ui/row-actions.tsx";
import { Time } from "../../ui/time.tsx";

const fields: readonly FormField[] = [
  { name: "number", label: "Phone number", kind: "text", note: "With + and the country code." },
  {
    name: "account_id",
    label: "Account",
    kind: "number",
    note: "Its number in this installation.",
  },
];

/** Which account owns which phone number. */
export function NumberAssignments() {
  return (
    <ListSection
      title="Owners of phone numbers"
      text="An account calls from its own numbers, and is called on them."
      actions={
        <FormDialog
          title="Assign a phone number"
          fields={fields}
          action="Assign the number"
          save={(json, _, key) => assignNumber(json as Parameters<typeof assignNumber>[0], key)}
          trigger={<Button>Assign a number</Button>}
        />
      }
      empty="None yet."
      query={useQuery(numberAssignmentsQuery)}
      columns={columns}
      keyOf={({ number }) => Number(number)}
    />
  );
}

const columns: readonly Column<NumberAssignment>[] = [
  { header: "Number", cell: ({ number }) => <span className="tabular-nums">+{number}</span> },
  { header: "Account", numeric: true, cell: ({ account_id }) => account_id },
  { header: "Since", wide: true, cell: ({ assigned_at }) => <Time at={assigned_at} /> },
  {
    header: "Action",
    cell: ({ number }) => (
      <RowActions
        name={`+${number}`}
        remove={{
          text: "The account can no longer call from it, and its incoming calls are refused.",
          act: () => unassignNumber(number),
        }}
      />
    ),
  },
];
