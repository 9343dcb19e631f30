import { readFile } from "node:fs/promises";
import { join } from "node:path";

/** The content of `demo.json`: the service's address, tokens for each situation, and IDs to use. */
export type Demo = {
  readonly base_url: string;
  /** Signs in as the owner of the demo's account. */
  readonly console: { readonly email: string; readonly password: string };
  readonly tokens: Readonly<Record<string, string>>;
  readonly workspace_id: number;
  readonly inactive_workspace_id: number;
  readonly other_workspace_id: number;
  readonly status_id: number;
  readonly source_id: number;
  readonly priority_id: number;
  readonly contact_id: number;
  readonly custom_field_key: string;
  readonly agent_id: number;
  readonly chat_number_id: number;
  readonly template_id: number;
  readonly flow_id: number;
  readonly automation_flow_id: string;
  readonly low_credit_chat_number_id: number;
  readonly low_credit_template_id: number;
  /** E.164 digits without the plus. */
  readonly blacklisted_number: string;
  /** A string, as the contract takes it. */
  readonly group_id: string;
  /** An extension. */
  readonly agent_number: string;
  /** A string, as the contract takes it. */
  readonly agent_group_id: string;
  /** A voice file that serves every call type. */
  readonly voice_file_id: number;
  /** Path of a CSV of people to call; their numbers are in the column csv_number_column. */
  readonly csv_file: string;
  readonly csv_number_column: string;
};

export function demoFile(dataDir: string): string {
  return join(dataDir, "demo.json");
}

/** Reads the demo of a data folder; null if none was seeded. */
export async function readDemo(data_dir: string): Promise<Demo | null> {
  const text = await readFile(demoFile(data_dir), "utf8").catch(() => null);
  return text === null ? null : (JSON.parse(text) as Demo);
}
