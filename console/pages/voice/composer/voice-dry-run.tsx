import { getRouteApi } from "@tanstack/react-router";
import type { Answer } from "../../../api/answer.ts";
import { Button } from "../../../ui/button.tsx";
import { formatCount } from "../../../ui/numbers.ts";
import { PageLink } from "../../../ui/page-link.tsx";
import { CallsSandboxNote } from "../../../ui/sandbox-note.tsx";
import { zoneName } from "../../../ui/zone-name.ts";
import { DryRunPanel } from "../../campaigns/dry-run-panel.tsx";
import type { VoiceComposer } from "./use-voice-composer.ts";

const shell = getRouteApi("/shell");

type Preview = Answer<"previewVoiceCampaign">;
type Reject = Preview["rejects"][number];

const isDuplicate = ({ reason }: Reject) => reason === "has the number of an earlier row";
const isNoNumber = ({ reason }: Reject) => reason.startsWith("must be a number");

/** What the campaign would do, and the button that does it. */
export function VoiceDryRun({
  composer,
  preview,
}: {
  readonly composer: VoiceComposer;
  readonly preview: Preview;
}) {
  const { total, suppressed, credits, calls_per_second, zones } = preview;
  const callable = total - suppressed;
  const at_night = zones.some((zone) => zone.at_night);
  return (
    <DryRunPanel
      {...preview}
      reached={callable}
      left_out={leftOut(preview)}
      about_credits={
        <p className={credits.sufficient ? "text-muted text-xs" : "text-danger"}>
          {credits.sufficient
            ? "For one short answered call to each; longer calls cost more."
            : "The credit does not suffice for everyone: the campaign pauses when it is used up."}
        </p>
      }
      list={composer.may_see ? "/voice/campaigns" : null}
      action={`Call ${formatCount(callable)} ${callable === 1 ? "person" : "people"}${at_night ? " at night" : ""}`}
      action_kind={at_night ? "danger" : "primary"}
      blocked={callable === 0}
      send={composer.send}
      onChange={composer.reset}
    >
      <CallsSandboxNote />
      <LocalHours zones={zones} />
      <NightWarning composer={composer} preview={preview} />
      <p className="text-muted">
        Up to {formatCount(calls_per_second)} {calls_per_second === 1 ? "call" : "calls"} a second,
        at the trunk's pace.
      </p>
    </DryRunPanel>
  );
}

function leftOut({ rejected, duplicates, rejects, suppressed, suppressed_samples }: Preview) {
  const wrong = rejects.filter((reject) => !isDuplicate(reject));
  return [
    {
      reason: wrong.every(isNoNumber) ? "Not a phone number" : "Not valid",
      count: rejected,
      examples: wrong.map((reject) => {
        const value = reject.value === "" ? `row ${reject.row}` : reject.value;
        return isNoNumber(reject) ? value : `${value} ${reject.reason}`;
      }),
    },
    {
      reason: "More than once in the list",
      count: duplicates,
      examples: rejects.filter(isDuplicate).map(({ value }) => value),
    },
    {
      reason: "Suppressed: they asked for no calls",
      count: suppressed,
      examples: suppressed_samples.map((phone) => `+${phone}`),
    },
  ];
}

/** When people may be called by the clocks where they are. */
function LocalHours({ zones }: Pick<Preview, "zones">) {
  const { time_zone } = shell.useRouteContext().me.account;
  if (zones.length === 0) return null;
  return (
    <section aria-label="Where they are" className="flex flex-col gap-1">
      <h3 className="font-medium">Where they are</h3>
      <ul className="flex flex-col gap-1">
        {zones.map(({ time_zones, recipients, callable_from }) => (
          <li key={time_zones.join()}>
            {formatCount(recipients)} in{" "}
            {time_zones.length === 0 ? "an unknown place" : time_zones.map(zoneName).join(" or ")}
            <span className="text-muted">
              ,{" "}
              {callable_from === null
                ? "never callable at these hours"
                : `from ${localTime(callable_from, time_zones[0], time_zone)}`}
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}

/** Warns of calls at night where people are, and offers to wait for the day. */
function NightWarning({
  composer: { check },
  preview: { zones, starts_at, daytime_from },
}: {
  readonly composer: VoiceComposer;
  readonly preview: Preview;
}) {
  const { time_zone } = shell.useRouteContext().me.account;
  const night = zones.filter(({ at_night }) => at_night);
  if (night.length === 0) return null;
  const people = night.reduce((sum, { recipients }) => sum + recipients, 0);
  const waits = daytime_from !== null && daytime_from !== starts_at;
  return (
    <section
      aria-label="Calls at night"
      className="bg-warning-soft flex flex-col items-start gap-2 rounded-xl p-4"
    >
      <p className="text-warning font-medium">
        {formatCount(people)} {people === 1 ? "person" : "people"} would be called at night
      </p>
      <p>
        Calls would be placed outside 9:00 to 21:00 by the clocks there. The account's{" "}
        <PageLink to="/settings/account" className="underline">
          settings
        </PageLink>{" "}
        allow it.
      </p>
      {waits && (
        <Button
          kind="primary"
          onClick={() => check({ scheduled_at: timeIn(time_zone, daytime_from) })}
        >
          Begin on {localTime(daytime_from, night[0]!.time_zones[0], time_zone)}
        </Button>
      )}
    </section>
  );
}

/** An instant as the field of the beginning has it. */
function timeIn(timeZone: string, at: string): string {
  const format = new Intl.DateTimeFormat("sv-SE", {
    dateStyle: "short",
    timeStyle: "short",
    timeZone,
  });
  return format.format(new Date(at)).replace(" ", "T");
}

/** A time by a clock where the people are, or, if that is unknown, by the account's. */
function localTime(at: string, there: string | undefined, accountZone: string): string {
  const format = new Intl.DateTimeFormat(undefined, {
    weekday: "short",
    hour: "2-digit",
    minute: "2-digit",
    timeZone: there ?? accountZone,
  });
  return `${format.format(new Date(at))}${there === undefined ? "" : " there"}`;
}
