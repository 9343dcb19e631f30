// Looks up extensions of an account.
import type { VoiceDriverName } from "../../../drivers/voice/driver.ts";
import { statement, type Executor } from "../../../lib/database/database.ts";
import type { Agent, Call } from "../../state-machine/call.ts";

type Row = { readonly extension: string; readonly endpoint: string };

const findByDigit = statement<Row>(
  "select extension, endpoint from extensions where account_id = $1 and digit = $2",
);

const findByNumber = statement<Row>(
  "select extension, endpoint from extensions where account_id = $1 and extension = $2",
);

/** Finds the extension that the account maps to a digit, or null. */
export async function findExtension(
  db: Executor,
  { account_id }: Pick<Call, "account_id">,
  digit: string,
): Promise<Agent | null> {
  const [row] = await findByDigit(db, [account_id, digit]);
  return row ? extensionAgent(row.extension, row.endpoint) : null;
}

/** Finds the extension of this number, or null; in the sandbox every extension exists. */
export async function findExtensionNumber(
  db: Executor,
  { account_id }: Pick<Call, "account_id">,
  extension: string,
  driver: VoiceDriverName,
): Promise<Agent | null> {
  const [row] = await findByNumber(db, [account_id, extension]);
  if (row) return extensionAgent(extension, row.endpoint);
  return driver === "sandbox" ? extensionAgent(extension, extension) : null;
}

/** Returns the agent at an extension's endpoint. */
export function extensionAgent(number: string, endpoint: string): Agent {
  return { number, target: { kind: "extension", endpoint, number } };
}
