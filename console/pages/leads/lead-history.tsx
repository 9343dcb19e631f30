import { useInfiniteQuery, useMutation } from "@tanstack/react-query";
import { useRef, useState } from "react";
import type { Row } from "../../api/answer.ts";
import { addNote, leadTimelineQuery, type LeadPlace } from "../../api/lead.ts";
import { useLeadNames } from "../../api/lead-names.ts";
import { describeLeadEntry, type Names } from "../../messages/lead-history.ts";
import { Button } from "../../ui/button.tsx";
import { FormError } from "../../ui/form-error.tsx";
import { Panel } from "../../ui/panel.tsx";
import { useMay } from "../../ui/permission.ts";
import { ShowCurl } from "../../ui/show-curl.tsx";
import { TextAreaField } from "../../ui/text-area-field.tsx";
import { Timeline } from "../../ui/timeline.tsx";
import { UnsavedChanges } from "../../ui/unsaved-changes.tsx";

/** Everything that happened to the lead, newest first, and a field to add a note. */
export function LeadHistory({ place }: { readonly place: LeadPlace }) {
  const timeline = useInfiniteQuery(leadTimelineQuery(place));
  const names = useLeadNames([place.workspaceId])(place.workspaceId);
  const may_change = useMay("crm.write");
  const entries = timeline.data?.pages.flatMap(({ data }) => data) ?? [];
  return (
    <Panel title="Timeline">
      {may_change && <NoteForm place={place} />}
      <FormError error={timeline.error} />
      <Timeline
        label="Timeline"
        entries={entries.map((entry) => itemOf(entry, names))}
        loading={timeline.isPending}
        {...(timeline.hasNextPage ? { loadMore: () => void timeline.fetchNextPage() } : {})}
      />
    </Panel>
  );
}

function itemOf(entry: Row<"listLeadTimeline">, names: Names) {
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
  const add = useMutation({
    mutationFn: () => addNote(place, new FormData(form.current!).get("text") as string),
    onSuccess: () => {
      setIsWritten(false);
      form.current?.reset();
    },
  });
  return (
    <form
      ref={form}
      className="flex flex-col items-start gap-2 *:first:w-full"
      onSubmit={(event) => {
        event.preventDefault();
        add.mutate();
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
      <div className="flex flex-wrap gap-2">
        <Button type="submit" busy={add.isPending}>
          Add note
        </Button>
        <ShowCurl
          submit={async () => {
            if (form.current!.reportValidity()) await add.mutateAsync();
          }}
        />
      </div>
    </form>
  );
}
