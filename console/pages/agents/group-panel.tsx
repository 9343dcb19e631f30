import { useMutation, useQuery } from "@tanstack/react-query";
import {
  agentMembersQuery,
  updateAvailability,
  type AgentGroup,
  type AgentMember,
} from "../../api/agents.ts";
import { X } from "lucide-react";
import { api } from "../../api/client.ts";
import { queryClient } from "../../api/query-client.ts";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { ConfirmDialog } from "../../ui/confirm-dialog.tsx";
import { FormError } from "../../ui/form-error.tsx";
import { Panel } from "../../ui/panel.tsx";
import { useMay } from "../../ui/permission.ts";
import { SortableList } from "../../ui/sortable-list.tsx";
import { Time } from "../../ui/time.tsx";
import { AddMemberForm } from "./add-member-form.tsx";
import { GroupNameDialog } from "./group-name-dialog.tsx";

const refresh = () => queryClient.invalidateQueries({ queryKey: ["agent-groups"] });

/** One member has another place. */
type Move = { readonly before: readonly AgentMember[]; readonly ordered: readonly AgentMember[] };

/** A group of agents in the order in which they are rung, with who is on a call. */
export function GroupPanel({ group }: { readonly group: AgentGroup }) {
  const { id, name } = group;
  const { data: members = [], error } = useQuery(agentMembersQuery(id));
  const may = useMay("agents.manage");
  const order = useMutation({
    // Moves are stored one after the other: each is relative to the one before.
    scope: { id: `agent-group-${id}` },
    mutationFn: async ({ before, ordered }: Move) => {
      const moved = ordered.findIndex((member, at) => member.id !== before[at]?.id);
      // One was moved: backward, it stands where the first difference is; forward, its old place does.
      const isForward = ordered[moved]?.id === before[moved + 1]?.id;
      const member = isForward ? before[moved]! : ordered[moved]!;
      const position = ordered.indexOf(member) + 1;
      await api.PATCH("/api/v1/agent-groups/{id}/members/{memberId}", {
        params: { path: { id, memberId: member.id } },
        body: { position },
      });
      await refresh();
    },
  });
  const shown = order.isPending ? order.variables.ordered : members;
  return (
    <Panel title={name} actions={may && <GroupActions group={group} />}>
      <FormError error={error ?? order.error} />
      {members.length === 0 && <p className="text-muted">No members yet.</p>}
      {may ? (
        <SortableList
          label={`Members of ${name}`}
          items={shown}
          keyOf={(member) => member.id}
          nameOf={({ number }) => number}
          busy={order.isPending}
          onOrder={(ordered) => order.mutate({ before: shown, ordered })}
        >
          {(member) => <Member group_id={id} member={member} />}
        </SortableList>
      ) : (
        <ul aria-label={`Members of ${name}`} className="divide-line divide-y">
          {members.map((member) => (
            <li key={member.id} className="py-2">
              <Member group_id={id} member={member} />
            </li>
          ))}
        </ul>
      )}
      {may && <AddMemberForm id={id} />}
    </Panel>
  );
}

function GroupActions({ group }: { readonly group: AgentGroup }) {
  const { id, name } = group;
  return (
    <span className="-my-1 flex gap-1">
      <GroupNameDialog
        group={group}
        trigger={
          <Button kind="quiet" aria-label={`Rename ${name}`}>
            Rename
          </Button>
        }
      />
      <ConfirmDialog
        title={`Delete ${name}?`}
        text="Only a group that no menu, agent or number uses can be deleted."
        action="Delete"
        trigger={
          <Button kind="quiet" aria-label={`Delete ${name}`}>
            Delete
          </Button>
        }
        act={async () => {
          await api.DELETE("/api/v1/agent-groups/{id}", { params: { path: { id } } });
          await refresh();
        }}
      />
    </span>
  );
}

function Member({
  group_id: id,
  member: { id: memberId, number, name, busy, away_since, last_call_ended_at },
}: {
  readonly group_id: number;
  readonly member: AgentMember;
}) {
  const may = useMay("agents.manage");
  const change = useMutation({
    mutationFn: () => updateAvailability(number, away_since === null),
  });
  const remove = useMutation({
    mutationFn: async () => {
      await api.DELETE("/api/v1/agent-groups/{id}/members/{memberId}", {
        params: { path: { id, memberId } },
      });
      await refresh();
    },
  });
  return (
    <div className="flex flex-wrap items-center justify-between gap-2">
      <div className="min-w-0">
        <span className="tabular-nums">{number}</span> {name}
        <span className="text-muted block text-xs">
          {last_call_ended_at === null ? (
            "No call yet"
          ) : (
            <>
              Last call until <Time at={last_call_ended_at} />
            </>
          )}
        </span>
        <FormError error={remove.error ?? change.error} />
      </div>
      <span className="flex flex-wrap items-center gap-1">
        <MemberState busy={busy} away={away_since !== null} />
        {may && (
          <Button
            kind="quiet"
            busy={change.isPending}
            aria-label={`${away_since === null ? "Set away" : "Back"}: ${number}`}
            onClick={() => change.mutate()}
          >
            {away_since === null ? "Set away" : "Back"}
          </Button>
        )}
        {may && (
          <Button
            kind="quiet"
            className="w-8 px-0!"
            title="Remove"
            busy={remove.isPending}
            aria-label={`Remove ${number}`}
            onClick={() => remove.mutate()}
          >
            <X aria-hidden className="size-4" />
          </Button>
        )}
      </span>
    </div>
  );
}

function MemberState({ busy, away }: { readonly busy: boolean; readonly away: boolean }) {
  if (busy) return <Badge tone="busy">On a call</Badge>;
  return away ? <Badge tone="neutral">Away</Badge> : <Badge tone="good">Free</Badge>;
}
