import { median, renderTable } from "../lib/figures.ts";
import { renderPage } from "../lib/report.ts";

/** The memory of the service's process. */
export type Memory = { readonly pss_mb: number; readonly rss_mb: number };

export type Switch = "sandbox" | "asterisk";

export type Round = {
  readonly switch: Switch;
  readonly idle: Memory;
  /** The maximum, with all calls. */
  readonly live: Memory;
  readonly after: Memory;
};

const switches: readonly Switch[] = ["sandbox", "asterisk"];
const moments = ["idle", "live", "after"] as const;

/** Renders the page that is printed and stored: memory of the calls, each round, machine. */
export function reportMemory(
  rounds: readonly Round[],
  scale: { readonly rounds: number; readonly calls: number },
  machine: readonly string[],
): string {
  const titles = { idle: "idle", live: `${scale.calls} live calls, maximum`, after: "after them" };
  const of = (name: Switch) => rounds.filter((round) => round.switch === name);
  const mb = (value: number) => `${value.toFixed(1)} MB`;
  const rows = switches.flatMap((name) =>
    moments.map((moment) => {
      const middle = (read: (memory: Memory) => number) =>
        median(of(name).map((round) => read(round[moment])));
      const grown_kb = median(
        of(name).map((round) => ((round[moment].pss_mb - round.idle.pss_mb) * 1_024) / scale.calls),
      );
      return [
        `${name}: ${titles[moment]}`,
        mb(middle(({ pss_mb }) => pss_mb)),
        mb(middle(({ rss_mb }) => rss_mb)),
        moment === "idle" ? "" : `${grown_kb.toFixed(1)} kB`,
      ];
    }),
  );
  const perRound = rounds.map((round) => [
    round.switch,
    ...moments.map((moment) => round[moment].pss_mb.toFixed(1)),
  ]);
  return renderPage("Memory of live calls", machine, [
    `The process of the service (API and worker, without its database), medians of ${scale.rounds}: idle for some`,
    `seconds, the maximum while ${scale.calls} calls play one minute of audio, and idle again after all were hung up.`,
    "",
    renderTable(["what", "PSS", "RSS", "per call, above idle"], rows),
    "",
    "Each round, PSS in MB; the first starts with a new service:",
    "",
    renderTable(["switch", ...moments], perRound),
  ]);
}
