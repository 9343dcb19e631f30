import { median, renderTable } from "../lib/figures.ts";
import { renderPage, verdict } from "../lib/report.ts";
import { campaigns_beside, places, type Place } from "./many-fixture.ts";

export type SentMany = {
  /** Messages of all campaigns, from the first to the last at the far end. */
  readonly per_second: number;
  /** Microseconds of processor time per message. */
  readonly sender_us: number;
  readonly database_us: number;
  readonly messages_per_iteration: number;
};

export type ManyRound = Readonly<Record<Place, SentMany>>;

const ratio_min = 0.9;

/** Renders the page that is printed and stored: each place with its ratio to one campaign alone. */
export function reportMany(
  rounds: readonly ManyRound[],
  scale: { readonly messages: number; readonly delay_ms: number; readonly in_flight: number },
  machine: readonly string[],
): string {
  const middle = (of: (round: ManyRound) => number) => median(rounds.map(of));
  const rows = places.map((place) => {
    const ratio = middle((round) => round[place].per_second / round.alone.per_second);
    const figure = (key: keyof SentMany, digits: number) =>
      middle((round) => round[place][key]).toFixed(digits);
    return [
      place === "alone" ? "one campaign alone" : `beside ${campaigns_beside}: ${place}`,
      figure("sender_us", 0),
      figure("database_us", 0),
      figure("messages_per_iteration", 1),
      `${figure("per_second", 0)}/s`,
      ...(place === "alone"
        ? ["", "", ""]
        : [`${ratio.toFixed(2)} x`, `>= ${ratio_min} x`, verdict(ratio >= ratio_min)]),
    ];
  });
  return renderPage("Sending beside running campaigns", machine, [
    `${scale.messages} messages, in one campaign or evenly in ${campaigns_beside + 1} that run at the same time; the far end answers`,
    `after ${scale.delay_ms} ms, at most ${scale.in_flight} requests of a chat number in flight. Medians of ${rounds.length}; a ratio is the median of the`,
    "rounds' ratios of all messages a second. Processor time is in us per message.",
    "",
    renderTable(
      ["what", "sender", "database", "per iteration", "rate", "figure", "limit", ""],
      rows,
    ),
    "",
    "Each round, messages per second:",
    "",
    renderTable(
      ["round", ...places],
      rounds.map((round, i) => [
        String(i + 1),
        ...places.map((place) => round[place].per_second.toFixed(0)),
      ]),
    ),
  ]);
}
