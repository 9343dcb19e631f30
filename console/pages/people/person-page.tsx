import { useInfiniteQuery, useMutation, useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useState } from "react";
import { useLeadNames } from "../../api/lead-names.ts";
import { useRefresh } from "../../api/live.ts";
import {
  liftSuppression,
  personQuery,
  personTimelineQuery,
  suppressionsQuery,
} from "../../api/people.ts";
import { answer_events } from "../../api/replies.ts";
import {
  describePersonEntry,
  describeSource,
  describeSuppression,
} from "../../messages/person-history.ts";
import { Button } from "../../ui/button.tsx";
import { FormError } from "../../ui/form-error.tsx";
import { Page } from "../../ui/page.tsx";
import { Panel } from "../../ui/panel.tsx";
import { useMay } from "../../ui/permission.ts";
import { Time } from "../../ui/time.tsx";
import { Timeline } from "../../ui/timeline.tsx";
import { ContactActions } from "./contact-actions.tsx";
import { EntryLink } from "./entry-link.tsx";
import { EraseDialog } from "./erase-dialog.tsx";
import { ErasureProgress } from "./erasure-progress.tsx";
import { SuppressDialog } from "./suppress-dialog.tsx";

const route = getRouteApi("/shell/people/$phone");

export function PersonPage() {
  const { phone } = route.useParams();
  // Another person's page begins anew: an erasure belongs to the person before.
  return <Person key={phone} phone={phone} />;
}

function Person({ phone }: { readonly phone: string }) {
  const [erasure, setErasure] = useState<number | null>(null);
  const { data: person } = useQuery(personQuery(phone));
  useRefresh(changes, ["person", phone], { phone });
  const may_erase = useMay("people.erase");
  const may_suppress = useMay("suppressions.manage");
  const may_see = useMay("suppressions.read") || may_suppress;
  const number = person ? `+${person.phone_number}` : phone;
  return (
    <Page
      title={
        <>
          {person?.name}{" "}
          <span className={person?.name ? "text-muted font-normal" : ""}>{number}</span>
        </>
      }
      text={
        <>
          {person?.email && <span className="text-ink block wrap-anywhere">{person.email}</span>}
          Everything that is known under this number, however it is written.
        </>
      }
      actions={
        <>
          <ContactActions number={number} name={person?.name ?? null} />
          {may_suppress && <SuppressDialog phone={phone} />}
          {may_erase && <EraseDialog phone={phone} onRequested={setErasure} />}
        </>
      }
    >
      {erasure !== null && <ErasureProgress id={erasure} />}
      {may_see && <Suppressions phone={phone} may_lift={may_suppress} />}
      <PersonHistory phone={phone} />
    </Page>
  );
}

/** What changes a person's history. */
const changes = [
  "lead.created",
  "lead.updated",
  "chat.reply.received",
  ...answer_events,
  "call.initiated",
  "call.answered",
  "call.completed",
] as const;

function PersonHistory({ phone }: { readonly phone: string }) {
  const timeline = useInfiniteQuery(personTimelineQuery(phone, null));
  const entries = timeline.data?.pages.flatMap(({ data }) => data) ?? [];
  const workspaces = new Set(
    entries.flatMap(({ kind, data }) => (kind === "lead" ? [Number(data["workspace_id"])] : [])),
  );
  const namesOf = useLeadNames([...workspaces]);
  return (
    <Panel title="Timeline">
      <FormError error={timeline.error} />
      {(timeline.data || !timeline.error) && (
        <Timeline
          label="Timeline"
          entries={entries.map((entry, index) => {
            const { title, text } = describePersonEntry(entry, namesOf);
            return {
              key: String(entries.length - index),
              at: entry.at,
              title: <EntryLink entry={entry} phone={phone} title={title} />,
              text,
            };
          })}
          loading={timeline.isPending}
          {...(timeline.hasNextPage ? { loadMore: () => void timeline.fetchNextPage() } : {})}
        />
      )}
    </Panel>
  );
}

function Suppressions({ phone, may_lift }: { readonly phone: string; readonly may_lift: boolean }) {
  const { data = [], error } = useQuery(suppressionsQuery(phone));
  const lift = useMutation({ mutationFn: (id: number) => liftSuppression(id) });
  if (data.length === 0) return <FormError error={error} />;
  return (
    <Panel title="Suppressed">
      <ul aria-label="Suppressions in force" className="flex flex-col gap-3">
        {data.map(({ id, channel, scope, source, reason, expires_at }) => (
          <li key={id} className="flex flex-wrap items-center justify-between gap-2">
            <div className="min-w-0">
              <p className="text-danger font-medium">{describeSuppression(channel, scope)}</p>
              <p className="text-muted text-xs wrap-anywhere">
                {describeSource(source)}
                {reason && reason !== source && ` · ${reason}`}
                {expires_at && (
                  <>
                    {" · until "}
                    <Time at={expires_at} />
                  </>
                )}
              </p>
            </div>
            {may_lift && (
              <Button busy={lift.isPending} onClick={() => lift.mutate(id)}>
                Lift
              </Button>
            )}
          </li>
        ))}
      </ul>
      <FormError error={lift.error} />
    </Panel>
  );
}
