import { useQuery } from "@tanstack/react-query";
import { useCallback, useState } from "react";
import { eventTypesQuery, type EventName } from "../../api/callbacks.ts";
import { useEvents, type LiveEvent } from "../../api/live.ts";
import { Button } from "../../ui/button.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { FilterSelect } from "../../ui/filter-select.tsx";
import { FormError } from "../../ui/form-error.tsx";
import { Page } from "../../ui/page.tsx";
import { Time } from "../../ui/time.tsx";
import { JsonText } from "./json-text.tsx";

const shown_max = 200;

type Seen = LiveEvent & { readonly key: number };

/** The account's events as they happen, newest first. */
export function EventsPage() {
  const { data: types, error } = useQuery(eventTypesQuery);
  const [seen, setSeen] = useState<readonly Seen[]>([]);
  const [isPaused, setIsPaused] = useState(false);
  const [type, setType] = useState<EventName>();
  const receive = useCallback(
    (_: unknown, event: LiveEvent) => {
      if (isPaused) return;
      setSeen((old) => [{ ...event, key: (old[0]?.key ?? 0) + 1 }, ...old].slice(0, shown_max));
    },
    [isPaused],
  );
  useEvents(
    (types ?? []).map((one) => one.type as EventName),
    receive,
  );
  const shown = seen.filter((event) => type === undefined || event.type === type);
  return (
    <Page
      title="Events"
      text={`What happens in your account, as callbacks receive it. The newest ${shown_max} since you opened the page.`}
      actions={
        <Button onClick={() => setIsPaused(!isPaused)}>{isPaused ? "Continue" : "Pause"}</Button>
      }
    >
      <div className="flex flex-wrap gap-2">
        <FilterSelect
          label="Event"
          all="Any event"
          value={type}
          options={(types ?? []).map((one) => ({
            value: one.type as EventName,
            label: one.type,
          }))}
          onChange={setType}
        />
      </div>
      <FormError error={error} />
      {shown.length === 0 ? (
        <EmptyState
          title={isPaused ? "Paused" : "Waiting for events"}
          text="Create a lead, send a campaign or place a call: each event appears here at once."
        />
      ) : (
        <ol
          aria-label="Events"
          className="border-line bg-panel divide-line flex flex-col divide-y rounded-xl border"
        >
          {shown.map((event) => (
            <li key={event.key} className="px-4 py-2.5">
              <details>
                <summary className="flex cursor-pointer flex-wrap justify-between gap-x-4">
                  <span className="font-mono text-xs wrap-anywhere">{event.type}</span>
                  <span className="text-muted text-xs">
                    <Time at={event.timestamp} />
                  </span>
                </summary>
                <div className="mt-2">
                  <JsonText label={event.type} text={JSON.stringify(event.data)} />
                </div>
              </details>
            </li>
          ))}
        </ol>
      )}
    </Page>
  );
}
