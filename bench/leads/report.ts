import { median, renderTable } from "../lib/figures.ts";
import { renderPage, verdict } from "../lib/report.ts";

/** Leads or responses per second of each contender. */
export type Round = {
  readonly http: number;
  readonly one_lead: number;
  readonly function: number;
  readonly hello_fastify: number;
  readonly hello_http: number;
};

export type Figures = {
  readonly rounds: readonly Round[];
  readonly p50_ms: number;
  readonly p99_ms: number;
  readonly ready_seconds: number;
  readonly idle_mb: number;
};

/** Renders the page that is printed and stored: figures and limits, each round, machine. */
export function reportLeads(figures: Figures, machine: readonly string[]): string {
  const { rounds } = figures;
  const middle = (name: keyof Round) => median(rounds.map((round) => round[name]));
  const ratio = (to: keyof Round) => median(rounds.map((round) => round.http / round[to]));
  const rate = (name: keyof Round) => `${Math.round(middle(name))}/s`;
  const times = (value: number) => `${value.toFixed(2)} x`;
  const against = (to: keyof Round, limit: number) => [
    times(ratio(to)),
    `>= ${limit.toFixed(1)} x`,
    verdict(ratio(to) >= limit),
  ];
  const below = (value: number, limit: number, unit: string, digits: number) => [
    `${value.toFixed(digits)} ${unit}`,
    `<= ${limit} ${unit}`,
    verdict(value <= limit),
  ];
  const plain = ["", "", ""];
  const rows = [
    ["leads over HTTP, wrk, 64 connections", rate("http"), ...plain],
    ["(a) best one-lead SQL, pgbench", rate("one_lead"), ...against("one_lead", 1.2)],
    ["    the target", "", ...against("one_lead", 1.5)],
    ["(b) create_leads with one lead, pgbench", rate("function"), ...against("function", 1.5)],
    [
      "upper limit: Fastify hello-world",
      rate("hello_fastify"),
      times(ratio("hello_fastify")),
      "",
      "",
    ],
    ["upper limit: node:http hello-world", rate("hello_http"), times(ratio("hello_http")), "", ""],
    ["one lead, idle server, p50", "", ...below(figures.p50_ms, 1, "ms", 2)],
    ["one lead, idle server, p99", "", `${figures.p99_ms.toFixed(2)} ms`, "", ""],
    ["start to ready, warm", "", ...below(figures.ready_seconds, 2, "s", 2)],
    ["idle memory with PostgreSQL (PSS)", "", ...below(figures.idle_mb, 250, "MB", 0)],
  ];
  const names = ["http", "one_lead", "function", "hello_fastify", "hello_http"] as const;
  const perRound = rounds.map((round, i) => [
    String(i + 1),
    ...names.map((name) => String(Math.round(round[name]))),
  ]);
  return renderPage("Lead creation", machine, [
    `Medians of ${rounds.length}; a ratio is the median of the rounds' ratios, HTTP to the other.`,
    "",
    renderTable(["what", "rate", "figure", "limit", ""], rows),
    "",
    "Each round, per second:",
    "",
    renderTable(["round", ...names], perRound),
  ]);
}
