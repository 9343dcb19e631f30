import type { ReactNode } from "react";
import { Button } from "./button.tsx";
import { Time } from "./time.tsx";

type Entry = {
  readonly key: string;
  readonly at: string;
  readonly title: ReactNode;
  /** What someone wrote. */
  readonly text?: string | undefined;
  readonly by?: string | undefined;
};

/** What happened, newest first. */
export function Timeline({
  label,
  entries,
  loading,
  loadMore,
}: {
  readonly label: string;
  readonly entries: readonly Entry[];
  readonly loading: boolean;
  readonly loadMore?: () => void;
}) {
  if (!loading && entries.length === 0)
    return <p className="text-muted">Nothing has happened yet.</p>;
  return (
    <>
      <ol aria-label={label} aria-busy={loading} className="border-line ml-1 border-l">
        {entries.map(({ key, at, title, text, by }) => (
          <li key={key} className="relative pb-5 pl-5 last:pb-0">
            <span
              aria-hidden
              className="bg-panel border-accent absolute top-1 -left-[5px] size-[9px] rounded-full border-2"
            />
            <p className="font-medium wrap-anywhere">{title}</p>
            {text !== undefined && (
              <p className="bg-hover mt-1 rounded-lg px-3 py-2 wrap-anywhere whitespace-pre-wrap">
                {text}
              </p>
            )}
            <p className="text-muted mt-0.5 text-xs">
              <Time at={at} />
              {by && ` · ${by}`}
            </p>
          </li>
        ))}
      </ol>
      {loadMore && (
        <Button className="self-start" onClick={loadMore}>
          Show earlier
        </Button>
      )}
    </>
  );
}
