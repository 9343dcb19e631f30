import { useQuery } from "@tanstack/react-query";
import {
  addAgentNumber,
  agentNumbersQuery,
  removeAgentNumber,
  type AgentNumber,
} from "../../api/telephony.ts";
import { Button } from "../../ui/button.tsx";
import type { Column } from "../../ui/data-table.tsx";
import { FormDialog } from "../../ui/form-dialog.tsx";
import type { FormField } from "../../ui/form-fields.tsx";
import { ListSection } from "../../ui/list-section.tsx";
import { useMay } from "../../ui/permission.ts";
import { usePhoneFormats } from "../../ui/phone-formats.ts";
import { RowActions } from "../../ui/row-actions.tsx";
import { Time } from "../../ui/time.tsx";

const fieldsOf = (note: string): readonly FormField[] => [
  { name: "number", label: "Phone number", kind: "text", note },
  { name: "name", label: "Whose phone it is", kind: "text", empty: "" },
];

/** Phones outside the office that may be rung as an agent's. */
export function AgentNumbers() {
  const may = useMay("agents.manage");
  const { any } = usePhoneFormats();
  return (
    <ListSection
      title="Agents' own phones"
      text="Phone numbers that a call by a click may ring first, besides extensions and members of groups."
      actions={
        may && (
          <FormDialog
            title="Add an agent's phone"
            fields={fieldsOf(any)}
            action="Add the phone"
            save={(json, _, key) =>
              addAgentNumber(json as Parameters<typeof addAgentNumber>[0], key)
            }
            trigger={<Button>Add a phone</Button>}
          />
        )
      }
      empty="None yet."
      query={useQuery(agentNumbersQuery)}
      columns={may ? [...columns, actions] : columns}
      keyOf={({ number }) => Number(number)}
    />
  );
}

const columns: readonly Column<AgentNumber>[] = [
  { header: "Number", cell: ({ number }) => <span className="tabular-nums">+{number}</span> },
  { header: "Whose", cell: ({ name }) => name ?? "–" },
  { header: "Since", wide: true, cell: ({ created_at }) => <Time at={created_at} /> },
];

const actions: Column<AgentNumber> = {
  header: "Action",
  cell: ({ number }) => (
    <RowActions
      name={`+${number}`}
      remove={{
        text: "Calls by a click cannot ring it any more.",
        act: () => removeAgentNumber(number),
      }}
    />
  ),
};
