import { Time } from "../../ui/time.tsx";

/** When a campaign ended, begins or was created. */
export function CampaignWhen({
  campaign: { status, scheduled_at, created_at, finished_at },
}: {
  readonly campaign: {
    readonly status: string;
    readonly scheduled_at: string | null;
    readonly created_at: string;
    readonly finished_at: string | null;
  };
}) {
  const isToCome = status === "scheduled" && scheduled_at !== null;
  const word = finished_at === null ? (isToCome ? "Begins" : "Created") : "Finished";
  return (
    <>
      {word} <Time at={finished_at ?? (isToCome ? scheduled_at : created_at)} />
    </>
  );
}
