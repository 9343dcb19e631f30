// The load tools: wrk against a server, pgbench against the database.
import { join } from "node:path";
import { runTool } from "../lib/run-tool.ts";
import type { Fixture } from "./fixture.ts";

export const connections = 64;

export type WrkFigures = {
  readonly seconds: number;
  readonly answers: number;
  /** Responses with status 400 and above. */
  readonly refused: number;
  /** Connections that failed, timed out or broke. */
  readonly broken: number;
  readonly p50_ms: number;
  readonly p99_ms: number;
};

/** Creates leads over 64 connections; `seed` determines the random phones. */
export async function wrk(
  fixture: Fixture,
  url: string,
  seconds: number,
  seed: number,
): Promise<WrkFigures> {
  const args = ["-t1", `-c${connections}`, `-d${seconds}s`, "--timeout", "10s"];
  const script = join(import.meta.dirname, "create-leads.lua");
  const { path, token, custom_field_key, known } = fixture;
  const values = [path, token, custom_field_key, String(known), String(seed)];
  const output = await runTool("wrk", [...args, "-s", script, url, "--", ...values]);
  return JSON.parse(output.trim().split("\n").at(-1) ?? "") as WrkFigures;
}

export type PgbenchFigures = { readonly per_second: number; readonly transactions: number };

/** Runs an SQL script of this folder with prepared statements. */
export async function pgbench(
  fixture: Fixture,
  script: "one-lead" | "function",
  clients: number,
  seconds: number,
): Promise<PgbenchFigures> {
  const variables = Object.entries(fixture.variables).flatMap(([name, value]) => [
    "-D",
    `${name}=${value}`,
  ]);
  const load = ["-n", "-M", "prepared", "-j", "1", "-c", String(clients), "-T", String(seconds)];
  const file = join(import.meta.dirname, `${script}.sql`);
  const output = await runTool("pgbench", [
    ...load,
    ...variables,
    "-f",
    file,
    fixture.database_url,
  ]);
  const per_second = Number(/^tps = ([\d.]+)/m.exec(output)?.[1]);
  const transactions = Number(/actually processed: (\d+)/.exec(output)?.[1]);
  const failed = Number(/failed transactions: (\d+)/.exec(output)?.[1]);
  if (!(per_second > 0) || !(transactions > 0) || failed !== 0) {
    throw new Error(`pgbench ${script} failed:\n${output}`);
  }
  return { per_second, transactions };
}
