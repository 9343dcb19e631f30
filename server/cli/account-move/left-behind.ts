// What does not move with an account, for the operator who moves it.
import type { ArchiveHeader } from "./archive-records.ts";
import type { Client } from "./moved-tables.ts";

/** Notes what stays here and what has to be set up at the target. */
export async function notesOf(client: Client, header: ArchiveHeader): Promise<string[]> {
  const { account_id, nodes, trunks, phone_numbers, operator_settings } = header;
  const count = async (query: string) =>
    Number((await client.query<{ count: string }>(query, [account_id])).rows[0]!.count);
  const recordings = await count(
    "select count(*)::text as count from calls where account_id = $1 and recording_state = 'ready'",
  );
  const messages = await count(
    "select count(*)::text as count from call_messages where account_id = $1 and state = 'ready'",
  );
  const shared = await count(
    `select count(*)::text as count from chat_numbers where account_id = $1 and driver = 'whatsapp'
       and not exists (select from whatsapp_credentials w where w.account_id = $1)`,
  );
  const extensions = await count(
    "select count(*)::text as count from extensions where account_id = $1",
  );
  const named = (of: ArchiveHeader["nodes"]) =>
    of.map(({ id, name }) => `${id} "${name}"`).join(", ");
  return [
    header.frozen ? "" : "The account is active: this file can only be used with import --dry-run.",
    operator_settings.features.includes("operator") &&
      "The feature operator does not move: import --operator keeps it.",
    recordings + messages > 0 &&
      `${recordings} recordings of calls and ${messages} of callers' messages stay on their nodes: copy the files yourself, and give them the suffix of the target's ARI application.`,
    nodes.length > 0 && `Nodes to name at import (--nodes): ${named(nodes)}.`,
    trunks.length > 0 && `Trunks to name at import (--trunks): ${named(trunks)}.`,
    phone_numbers.length > 0 &&
      `${phone_numbers.length} phone numbers move: route them at the carrier, and allow them as caller IDs there.`,
    extensions > 0 && `${extensions} extensions move: set up their phones at the target's nodes.`,
    shared > 0 &&
      `${shared} WhatsApp numbers use this installation's app: the target needs access to them with its own.`,
  ].filter((note) => typeof note === "string" && note !== "") as string[];
}
