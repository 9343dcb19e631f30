import { useQuery } from "@tanstack/react-query";
import { agentGroupsQuery } from "../../api/agents.ts";
import { phoneNumbersQuery, routeNumber, type PhoneNumber } from "../../api/telephony.ts";
import { menusQuery } from "../../api/voice.ts";
import type { Column } from "../../ui/data-table.tsx";
import type { FormField, FormValues } from "../../ui/form-fields.tsx";
import { ListSection } from "../../ui/list-section.tsx";
import type { Option } from "../../ui/option.ts";
import { useMay } from "../../ui/permission.ts";
import { RowActions } from "../../ui/row-actions.tsx";
import { Time } from "../../ui/time.tsx";

/** The account's phone numbers, and where their incoming calls go. */
export function PhoneNumbers() {
  const may = useMay("agents.manage");
  const readsMenus = useMay("voice.content.read");
  const managesMenus = useMay("voice.content.manage");
  const seesMenus = readsMenus || managesMenus;
  const menus = useQuery({ ...menusQuery, enabled: seesMenus });
  const groups = useQuery(agentGroupsQuery);
  // A select drops a value for which it has no option yet.
  const isKnown = groups.isSuccess && (!seesMenus || menus.isSuccess);
  const targets = targetsOf(menus.data ?? [], groups.data ?? []);
  const route: Column<PhoneNumber> = {
    header: "Action",
    cell: (row) => (
      <RowActions
        name={`+${row.number}`}
        change={{
          fields: [targetField(targets)],
          known: { target: targetOf(row) },
          save: (json) => routeNumber(row.number, readTarget(json)),
        }}
      />
    ),
  };
  return (
    <ListSection
      title="Phone numbers"
      text="Customers see them, and may call back. The operator assigns them."
      empty="None yet."
      query={useQuery(phoneNumbersQuery)}
      columns={[...columnsOf(targets), ...(may && isKnown ? [route] : [])]}
      keyOf={({ number }) => Number(number)}
    />
  );
}

type Named = { readonly id: number; readonly name: string };

const targetsOf = (menus: readonly Named[], groups: readonly Named[]): Option<string>[] => [
  ...menus.map(({ id, name }) => ({ value: `menu ${id}`, label: `Menu: ${name}` })),
  ...groups.map(({ id, name }) => ({ value: `group ${id}`, label: `Agents: ${name}` })),
];

const targetOf = ({ menu_id, agent_group_id }: PhoneNumber): string | null => {
  if (menu_id !== null) return `menu ${menu_id}`;
  return agent_group_id === null ? null : `group ${agent_group_id}`;
};

const targetField = (options: readonly Option<string>[]): FormField => ({
  name: "target",
  label: "Incoming calls go to",
  kind: "choice",
  options,
  empty: "Nowhere: they are busy, and reported as missed",
});

function readTarget({ target }: FormValues) {
  const [kind, id] = typeof target === "string" ? target.split(" ") : [];
  return {
    menu_id: kind === "menu" ? Number(id) : null,
    agent_group_id: kind === "group" ? Number(id) : null,
  };
}

const columnsOf = (targets: readonly Option<string>[]): readonly Column<PhoneNumber>[] => [
  { header: "Number", cell: ({ number }) => <span className="tabular-nums">+{number}</span> },
  {
    header: "Incoming calls go to",
    cell: (row) => {
      const target = targetOf(row);
      if (target === null) return "Nowhere";
      return targets.find(({ value }) => value === target)?.label ?? target;
    },
  },
  { header: "Since", wide: true, cell: ({ assigned_at }) => <Time at={assigned_at} /> },
];
