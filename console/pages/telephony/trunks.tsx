import { useQuery } from "@tanstack/react-query";
import { ApiProblem } from "../../api/problem.ts";
import {
  deleteTrunk,
  saveTrunk,
  trunksQuery,
  voiceNodesQuery,
  type Trunk,
  type TrunkBody,
  type VoiceNode,
} from "../../api/telephony.ts";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import type { Column } from "../../ui/data-table.tsx";
import { FormDialog } from "../../ui/form-dialog.tsx";
import { ListSection } from "../../ui/list-section.tsx";
import { RowActions } from "../../ui/row-actions.tsx";
import {
  changedTrunk,
  changesOf,
  new_trunk,
  nodeFieldsOfErrors,
  trunkFields,
  trunkOf,
} from "./trunk-fields.ts";

const no_trunks: readonly Trunk[] = [];

/** The lines to carriers, with their limits on each node. */
export function Trunks() {
  const trunks = useQuery(trunksQuery);
  // A form without all nodes would take the trunk from those that it does not know.
  const { data: nodes } = useQuery(voiceNodesQuery);
  const { data: known = no_trunks } = trunks;
  return (
    <ListSection
      title="Trunks"
      text="Lines to carriers: calls to phones leave through them."
      actions={
        nodes && (
          <FormDialog
            title="Add a trunk"
            fields={trunkFields(nodes, known)}
            known={new_trunk}
            action="Add the trunk"
            save={(json, _, key) => save(null, trunkOf(json, nodes), trunkOf(json, nodes), key)}
            trigger={<Button>Add a trunk</Button>}
          />
        )
      }
      empty="None yet. Without a trunk, only extensions can be called."
      query={trunks}
      columns={[...columnsOf(nodes ?? []), ...(nodes ? [actionsOf(nodes, known)] : [])]}
      keyOf={({ id }) => id}
    />
  );
}

async function save(id: number | null, trunk: TrunkBody, changed: Partial<TrunkBody>, key: string) {
  try {
    await saveTrunk(id, changed, key);
  } catch (error) {
    throw error instanceof ApiProblem ? nodeFieldsOfErrors(error, trunk.nodes) : error;
  }
}

const columnsOf = (nodes: readonly VoiceNode[]): readonly Column<Trunk>[] => [
  {
    header: "Name",
    cell: ({ name }) => <span className="inline-block min-w-16 wrap-anywhere">{name}</span>,
  },
  {
    header: "State",
    cell: (trunk) => <TrunkState trunk={trunk} nodes={nodes} />,
  },
  {
    header: "Caller IDs",
    wide: true,
    cell: ({ caller_ids }) => (caller_ids.length === 0 ? "The carrier's" : caller_ids.join(", ")),
  },
  {
    header: "Countries",
    wide: true,
    cell: ({ destinations }) => (destinations.includes("*") ? "All" : destinations.join(", ")),
  },
];

function TrunkState({
  trunk: { active, nodes: places },
  nodes,
}: {
  readonly trunk: Trunk;
  readonly nodes: readonly VoiceNode[];
}) {
  if (!active) return <Badge tone="neutral">No new calls</Badge>;
  const isUp = places.some(
    ({ node_id }) => nodes.find(({ id }) => id === node_id)?.connected === true,
  );
  return isUp ? <Badge tone="good">In use</Badge> : <Badge tone="warning">No connected node</Badge>;
}

const actionsOf = (nodes: readonly VoiceNode[], trunks: readonly Trunk[]): Column<Trunk> => ({
  header: "Action",
  cell: (trunk) => (
    <RowActions
      name={trunk.name}
      change={{
        fields: trunkFields(
          nodes,
          trunks.filter(({ id }) => id !== trunk.id),
        ),
        known: changedTrunk(trunk),
        save: (changed, json, key) =>
          save(trunk.id, trunkOf(json, nodes), changesOf(changed, trunkOf(json, nodes)), key),
      }}
      remove={{
        text: "A trunk with queued or live calls cannot be deleted: change it to take no new calls, and wait until they end. Voice campaigns that use it are paused.",
        act: () => deleteTrunk(trunk.id),
      }}
    />
  ),
});
