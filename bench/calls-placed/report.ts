import { median, percentile, renderTable } from "../lib/figures.ts";
import { renderPage, verdict } from "../lib/report.ts";

/** The times of one call. */
export type Placed = {
  /** From the request at our server to the sending of the leg's POST. */
  readonly posted_ms: number;
  /** From the request at our server to the response at the client. */
  readonly answered_ms: number;
  /** From the scheduled time of the request to the leg's POST at the switch. */
  readonly arrived_ms: number;
};

export type Run = {
  /** 1: API and worker in one process; 2: one process each. */
  readonly processes: 1 | 2;
  readonly per_second: number;
  readonly placed: readonly Placed[];
  /** Milliseconds of processor time per call. */
  readonly cpu_ms: { readonly ours: number; readonly database: number };
};

const limit_ms = 15;
/** The rate to which the limit applies. */
const limit_per_second = 100;

/** Renders the page that is printed and stored: figures, limit and machine. */
export function reportPlaced(
  runs: readonly Run[],
  scale: { readonly rounds: number; readonly seconds: number },
  machine: readonly string[],
): string {
  const kinds = runs
    .filter((run, i) => runs.findIndex((other) => isLike(run, other)) === i)
    .toSorted((a, b) => a.processes - b.processes || b.per_second - a.per_second);
  const rows = kinds.map((kind) => rowOf(runs.filter((run) => isLike(run, kind))));
  return renderPage("Calls placed", machine, [
    `Open loop, ${scale.rounds} x ${scale.seconds} s at each rate; a percentile is the median of the runs'. Placed: from the`,
    "request at our server to the sending of the POST of the agent's leg, with the leg's row on disk in between.",
    "Every call is carried to its end: agent, customer, one second of conversation. The client, the stub of",
    "the switch and PostgreSQL share the processor.",
    "",
    renderTable(
      ["what", "p50", "p99", "p95", "limit", ""],
      rows.map(({ placed }) => placed),
    ),
    "",
    "In ms (p95): the response at the client; from the request's scheduled time to the POST at the switch,",
    "including delays of the client; and the processor time per call.",
    "",
    renderTable(
      ["what", "answered", "arrived", "cpu ours", "cpu database"],
      rows.map(({ beside }) => beside),
    ),
  ]);
}

function isLike(run: Run, other: Run): boolean {
  return run.processes === other.processes && run.per_second === other.per_second;
}

function rowOf(runs: readonly Run[]): { placed: string[]; beside: string[] } {
  const { processes, per_second } = runs[0]!;
  const what = `${per_second} calls/s, API and worker in ${processes === 1 ? "one process" : "two"}`;
  const middle = (of: (run: Run) => number) => median(runs.map(of));
  const at = (percent: number, name: keyof Placed) =>
    middle(({ placed }) =>
      percentile(
        placed.map((each) => each[name]),
        percent,
      ),
    );
  const p95_ms = at(95, "posted_ms");
  const ms = (time: number) => `${time.toFixed(1)} ms`;
  const limit =
    per_second === limit_per_second ? [`<= ${limit_ms} ms`, verdict(p95_ms <= limit_ms)] : ["", ""];
  return {
    placed: [what, ms(at(50, "posted_ms")), ms(at(99, "posted_ms")), ms(p95_ms), ...limit],
    beside: [
      what,
      at(95, "answered_ms").toFixed(1),
      at(95, "arrived_ms").toFixed(1),
      middle(({ cpu_ms }) => cpu_ms.ours).toFixed(1),
      middle(({ cpu_ms }) => cpu_ms.database).toFixed(1),
    ],
  };
}
