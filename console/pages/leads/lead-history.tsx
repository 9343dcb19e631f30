import { useInfiniteQuery, useMutation } from "@tanstack/react-query";
import { useRef, useState } from "react";
import type { Row } from "../../api/answer.ts";
import { addNote, leadTimelineQuery, type LeadPlace } from "../../api/lead.ts";
import { useRefresh } from "../../api/live.ts";
import { mergePages } from "../../api/merge-pages.ts";
import { personTimelineQuery, type PersonEntry } from "../../api/people.ts";
import { useLeadNames } from "../../api/lead-names.ts";
import { describeLeadEntry, type Names } from "../../messages/lead-history.ts";
import { answer_events } from "../../api/replies.ts";
import { describePersonEntry } from "../../messages/person-history.ts";
import { Button } from "../../ui/button.tsx";
import { FormError } from "../../ui/form-error.tsx";
import { Panel } from "../../ui/panel.tsx";
import { useMay } from "../../ui/permission.ts";
import { FormActions } from "../../ui/form-actions.tsx";
import { TextAreaField } from "../../ui/text-area-field.tsx";
import { Timeline } from "../../ui/timeline.tsx";
import { UnsavedChanges } from "../../ui/unsaved-changes.tsx";
import { useKeyedWrite } from "../../ui/use-keyed-write.ts";
import { EntryLink } from "../people/entry-link.tsx";

type LeadEntry = Row<"listLeadTimeline">;

/** What the lead's person wrote, was sent and talked; the lead's own history has the rest. */
const contacts = ["message", "reply", "answer", "call"] as const;
const contact_events = [
  "chat.reply.received",
  ...answer_events,
  "call.initiated",
  "call.answered",
  "call.completed",
] as const;

/**
 * Everything that happened to the lead, with the messages and calls of its number (E.164 with a plus), newest first,
 * and a field to add a note.
 */
export function LeadHistory({
  place,
  phone,
}: {
  readonly place: LeadPlace;
  readonly phone: string;
}) {
  const timeline = useInfiniteQuery(leadTimelineQuery(place));
  const person = useInfiniteQuery(personTimelineQuery(phone, contacts));
  useRefresh(contact_events, ["person", phone], { phone });
  const names = useLeadNames([place.workspaceId])(place.workspaceId);
  const may_change = useMay("crm.write");
  const merged = mergePages<LeadEntry, PersonEntry>(timeline, person, ({ at }) => at);
  const calls = new Set(merged.entries.filter((entry) => !isOfLead(entry)).map(callOf));
  const entries = merged.entries.filter(
    (entry) => !isCallOfLead(entry) || !calls.has(callOf(entry)),
  );
  return (
    <Panel title="Timeline">
      {may_change && <NoteForm place={place} />}
      <FormError error={timeline.error ?? person.error} />
      <Timeline
        label="Timeline"
        entries={entries.map((entry, index) =>
          isOfLead(entry)
            ? itemOf(entry, names)
            : contactOf(entry, `contact ${entries.length - index}`, phone, names),
        )}
        loading={timeline.isPending || person.isPending}
        {...(merged.loadMore ? { loadMore: merged.loadMore } : {})}
      />
    </Panel>
  );
}

const isOfLead = (entry: LeadEntry | PersonEntry): entry is LeadEntry => "id" in entry;

/** The lead's line about a call has less than the call's own. */
const isCallOfLead = (entry: LeadEntry | PersonEntry) => isOfLead(entry) && entry.kind === "call";

const callOf = (entry: LeadEntry | PersonEntry) =>
  isOfLead(entry) ? entry.data["callId"] : entry.data["call_id"];

function contactOf(entry: PersonEntry, key: string, phone: string, names: Names) {
  const { title, text } = describePersonEntry(entry, () => names);
  return {
    key,
    at: entry.at,
    title: <EntryLink entry={entry} phone={phone} title={title} />,
    text,
  };
}

function itemOf(entry: LeadEntry, names: Names) {
  const sentences = describeLeadEntry(entry, names);
  const is_note = entry.kind === "note";
  return {
    key: String(entry.id),
    at: entry.at,
    title: is_note ? "Note" : sentences.join(" · "),
    ...(is_note ? { text: sentences[0]! } : {}),
    by: entry.userId === null ? undefined : names.user(entry.userId),
  };
}

function NoteForm({ place }: { readonly place: LeadPlace }) {
  const form = useRef<HTMLFormElement>(null);
  const [isWritten, setIsWritten] = useState(false);
  const write = useKeyedWrite();
  const textOf = () => new FormData(form.current!).get("text") as string;
  const add = useMutation({
    mutationFn: (text: string) => write(text, (key) => addNote(place, text, key)),
    onSuccess: (_done, text) => {
      // The next note may have been begun meanwhile.
      if (!form.current || textOf() !== text) return;
      setIsWritten(false);
      form.current.reset();
    },
  });
  return (
    <form
      ref={form}
      className="flex flex-col items-start gap-2 *:first:w-full *:last:w-full"
      onSubmit={(event) => {
        event.preventDefault();
        add.mutate(textOf());
      }}
    >
      <TextAreaField
        label="Note"
        name="text"
        rows={2}
        required
        maxLength={5_000}
        onChange={({ target }) => setIsWritten(target.value.trim() !== "")}
      />
      <UnsavedChanges isChanged={isWritten} />
      <FormError error={add.error} />
      <FormActions
        align="start"
        submit={async () => {
          if (form.current!.reportValidity()) await add.mutateAsync(textOf());
        }}
      >
        <Button type="submit" busy={add.isPending}>
          Add note
        </Button>
      </FormActions>
    </form>
  );
}
