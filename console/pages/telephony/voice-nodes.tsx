import { useQuery } from "@tanstack/react-query";
import {
  createNode,
  deleteNode,
  updateNode,
  voiceNodesQuery,
  type VoiceNode,
} from "../../api/telephony.ts";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import type { Column } from "../../ui/data-table.tsx";
import { FormDialog } from "../../ui/form-dialog.tsx";
import type { FormField, FormValues } from "../../ui/form-fields.tsx";
import { ListSection } from "../../ui/list-section.tsx";
import { formatCount } from "../../ui/numbers.ts";
import { RowActions } from "../../ui/row-actions.tsx";
import { Time } from "../../ui/time.tsx";

const load: readonly FormField[] = [
  { name: "calls_per_second", label: "New legs a second", kind: "number" },
  { name: "calls_max", label: "Calls at the same time", kind: "number" },
];

const name: FormField = { name: "name", label: "Name", kind: "text" };

const active: FormField = { name: "active", label: "Takes new calls", kind: "check" };

/** How an Asterisk is reached. */
const asterisk: readonly FormField[] = [
  {
    name: "ari.url",
    label: "URL of its ARI",
    kind: "text",
    note: "Such as http://127.0.0.1:8088/ari",
  },
  { name: "ari.user", label: "User", kind: "text" },
  { name: "ari.password", label: "Password", kind: "password" },
  {
    name: "ari.app",
    label: "Application",
    kind: "text",
    note: "A name that nothing else uses on this switch. It cannot be changed while the node has live calls or recordings.",
  },
  {
    name: "sounds_dir",
    label: "Folder for audio",
    kind: "text",
    empty: "None: it places no campaign calls",
    note: "Written here and read by the switch under the same path.",
  },
  {
    name: "cdr_path",
    label: "CDR file",
    kind: "text",
    empty: "None",
    note: "Tells how calls ended while nothing was connected.",
  },
];

/** A password that is not entered again stays. */
function patchOf(json: FormValues): FormValues {
  const ari = json["ari"] as FormValues | undefined;
  if (ari?.["password"] !== "") return json;
  const { password: _password, ...rest } = ari;
  return { ...json, ari: rest };
}

const fieldsOf = ({ driver }: VoiceNode): readonly FormField[] => [
  name,
  ...(driver === "asterisk" ? asterisk : []),
  ...load,
  active,
];

const create = (driver: VoiceNode["driver"]) => (json: FormValues, _: FormValues, key: string) =>
  createNode({ driver, ...json } as Parameters<typeof createNode>[0], key);

const added = { calls_per_second: 20, calls_max: 200, active: true };

/** The switches of the installation, with their state. */
export function VoiceNodes() {
  return (
    <ListSection
      title="Voice nodes"
      text="Switches that place the calls of every account of this installation."
      actions={
        <>
          <FormDialog
            title="Add a sandbox"
            text="A simulated switch: no phone rings."
            fields={[name, ...load, active]}
            known={added}
            action="Add the node"
            save={create("sandbox")}
            trigger={<Button>Add a sandbox</Button>}
          />
          <FormDialog
            title="Add an Asterisk"
            fields={[name, ...asterisk, ...load, active]}
            known={added}
            action="Add the node"
            save={create("asterisk")}
            trigger={<Button>Add an Asterisk</Button>}
          />
        </>
      }
      empty="None yet. Without a node, no call is placed."
      query={useQuery(voiceNodesQuery)}
      columns={columns}
      keyOf={({ id }) => id}
    />
  );
}

const columns: readonly Column<VoiceNode>[] = [
  {
    header: "Name",
    cell: (node) => <span className="inline-block min-w-16 wrap-anywhere">{node.name}</span>,
  },
  { header: "State", cell: (node) => <NodeState node={node} /> },
  {
    header: "Kind",
    wide: true,
    cell: ({ driver, ari }) => (
      <>
        {driver === "sandbox" ? "Sandbox" : "Asterisk"}
        {ari && <span className="text-muted block text-xs wrap-anywhere">{ari.url}</span>}
      </>
    ),
  },
  {
    header: "Calls at once",
    numeric: true,
    wide: true,
    cell: ({ calls_max }) => formatCount(calls_max),
  },
  {
    header: "Legs a second",
    numeric: true,
    wide: true,
    cell: ({ calls_per_second }) => formatCount(calls_per_second),
  },
  {
    header: "Action",
    cell: (node) => (
      <RowActions
        name={node.name}
        change={{
          fields: fieldsOf(node),
          known: node,
          save: (json) => updateNode(node.id, patchOf(json)),
        }}
        remove={{
          text: "A node with queued or live calls cannot be deleted. If it has placed calls, change it to take no new calls first. Its recordings can no longer be played afterwards.",
          act: () => deleteNode(node.id),
        }}
      />
    ),
  },
];

function NodeState({
  node: { active: takesCalls, connected, lost_at },
}: {
  readonly node: VoiceNode;
}) {
  if (lost_at !== null)
    return (
      <>
        <Badge tone="bad">Lost</Badge>
        <span className="text-muted block text-xs">
          Since <Time at={lost_at} />
        </span>
      </>
    );
  if (!connected) return <Badge tone="warning">Not connected</Badge>;
  if (!takesCalls) return <Badge tone="neutral">No new calls</Badge>;
  return <Badge tone="good">Connected</Badge>;
}
