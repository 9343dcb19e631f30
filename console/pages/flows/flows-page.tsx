import { useQuery } from "@tanstack/react-query";
import {
  chatFlowsQuery,
  createChatFlow,
  deleteChatFlow,
  updateChatFlow,
  type ChatFlow,
} from "../../api/flows.ts";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import type { Column } from "../../ui/data-table.tsx";
import { FormDialog } from "../../ui/form-dialog.tsx";
import { ListSection } from "../../ui/list-section.tsx";
import { Page } from "../../ui/page.tsx";
import { useMay } from "../../ui/permission.ts";
import { RowActions } from "../../ui/row-actions.tsx";
import { fieldsOf, flowOf, formOf, new_flow_fields } from "./flow-fields.ts";

/** First messages of conversations, for people who wrote within a day. */
export function FlowsPage() {
  const may = useMay("chat.manage");
  return (
    <Page
      title="Chat flows"
      text="First messages of their own, which reach people who wrote within 24 hours. A template reaches everyone."
      actions={
        may && (
          <FormDialog
            title="New chat flow"
            fields={new_flow_fields}
            known={{ active: true }}
            action="Create flow"
            save={(json, _, key) =>
              createChatFlow(flowOf(json) as Parameters<typeof createChatFlow>[0], key)
            }
            trigger={<Button kind="primary">New chat flow</Button>}
          />
        )
      }
    >
      <ListSection
        title="Flows"
        empty="None yet."
        query={useQuery(chatFlowsQuery)}
        columns={may ? [...columns, actions] : columns}
        keyOf={({ id }) => id}
      />
    </Page>
  );
}

const columns: readonly Column<ChatFlow>[] = [
  {
    header: "Name",
    cell: ({ name, opening }) => (
      <>
        {name}
        <span className="text-muted line-clamp-2 block text-xs font-normal wrap-anywhere">
          {opening.body ?? "Begins with a template"}
        </span>
      </>
    ),
  },
  {
    header: "State",
    cell: ({ active }) =>
      active ? <Badge tone="good">Active</Badge> : <Badge tone="neutral">Inactive</Badge>,
  },
  {
    header: "Buttons",
    wide: true,
    cell: ({ opening: { buttons = [], list, flow } }) => {
      if (list) return "A list";
      if (flow) return "A form";
      return buttons.map(({ title }) => title).join(", ") || "None";
    },
  },
  { header: "Number", numeric: true, wide: true, cell: ({ id }) => id },
];

const actions: Column<ChatFlow> = {
  header: "Action",
  cell: (flow) => (
    <RowActions
      name={flow.name}
      change={{
        fields: fieldsOf(flow),
        known: formOf(flow),
        save: (changed) => updateChatFlow(flow.id, flowOf(changed, flow)),
      }}
      remove={{
        text: "Only a flow without campaigns can be deleted. Another can be made inactive.",
        act: () => deleteChatFlow(flow.id),
      }}
    />
  ),
};
