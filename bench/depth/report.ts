import { renderTable } from "../lib/figures.ts";
import { renderPage } from "../lib/report.ts";
import type { TableSize } from "./fixture.ts";
import type { Growth } from "./growth.ts";
import type { Retention } from "./retention.ts";
import type { Rates } from "./idle-cost.ts";
import type { Timings } from "./timing.ts";

export type Figures = { readonly timings: Timings; readonly idle: Rates };

type Measured = {
  readonly size: Readonly<Record<"fresh" | "leads" | "messages" | "samples", number>>;
  readonly fill_seconds: number;
  readonly fresh: Figures;
  readonly deep: Figures;
  /** Of the fresh account, beside the deep one. */
  readonly beside: Figures;
  readonly tables: readonly TableSize[];
  readonly growth: readonly Growth[];
  readonly retention: Retention;
};

const digits = (value: number) => (value < 10 ? value.toFixed(2) : value.toFixed(0));

/** Renders the figures of the fresh and the deep account side by side. */
export function reportDepth(
  { size, fill_seconds, fresh, deep, beside, tables, growth, retention }: Measured,
  machine: readonly string[],
): string {
  const compare = (what: string, one: number, next: number, other: number, p95 = "") => [
    what,
    digits(one),
    digits(next),
    digits(other),
    (other / one).toFixed(1),
    p95,
  ];
  const lines = [
    ...Object.entries(deep.timings).map(([what, { shortest, p95 }]) => {
      const [alone, next] = [fresh.timings[what]!, beside.timings[what]!];
      return compare(what, alone.shortest, next.shortest, shortest, digits(p95));
    }),
    ...Object.entries(deep.idle).map(([what, rate]) =>
      compare(what, fresh.idle[what]!, beside.idle[what]!, rate),
    ),
  ];
  const { events, seconds, pause_before_ms, pause_ms } = retention;
  return renderPage("Depth", machine, [
    `An account with ${size.fresh} leads and ${size.fresh} messages alone in the database, then one with ${size.leads} leads and`,
    `${size.messages} messages beside it, filled in ${fill_seconds.toFixed(0)} s by statements that insert and select. Of ${size.samples} times in ms,`,
    "of requests over HTTP and of iterations in one process: the shortest, and the 95th percentile. `beside` is",
    "the first account once the other is there.",
    "",
    renderTable(["what", "fresh", "beside", "deep", "ratio", "deep p95"], lines),
    "",
    "## Retention",
    "",
    `${events} expired events, of which a tenth had a delivery, deleted in ${seconds.toFixed(1)} s: ${Math.round(events / seconds)} a second. Meanwhile a`,
    `campaign was sent at 100 messages a second. Longest pause between two messages: ${pause_before_ms.toFixed(0)} ms before, ${pause_ms.toFixed(0)} ms`,
    "during the deletion.",
    "",
    "## Bytes",
    "",
    "One more of each in the deep account, made through the API, with everything that is recorded of it; no callback",
    "endpoint and without queues. WAL is without full page images.",
    "",
    renderTable(
      ["what", "heap", "indexes", "WAL"],
      growth.map(({ what, ...bytes }) => [
        what,
        ...[bytes.heap, bytes.indexes, bytes.wal].map((value) => value.toFixed(0)),
      ]),
    ),
    "",
    "Tables after the fill, bytes a row:",
    "",
    renderTable(
      ["table", "rows", "heap", "indexes"],
      tables
        .slice(0, 20)
        .map(({ name, rows, heap, indexes }) => [
          name,
          rows.toFixed(0),
          (heap / rows).toFixed(0),
          (indexes / rows).toFixed(0),
        ]),
    ),
  ]);
}
