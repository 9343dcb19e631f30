import { CreditGrant, type CreditsResponse } from "../credits/credit-schema.ts";
import { findCredits } from "../credits/credits.ts";
import { grantCredits } from "../credits/grant-credits.ts";
import type { Command } from "./command.ts";
import { readAs, readId, readNumber } from "./read-words.ts";
import { textTable } from "./text-table.ts";

export const creditCommands: readonly Command[] = [
  {
    name: "credits grant",
    summary: "Give an account credit",
    operands: ["account"],
    options: {
      kind: { value: "kind", about: "chat or call", required: true },
      amount: { value: "number", about: "1 to 1000000000000", required: true },
      note: { value: "text", about: "Appears in the ledger" },
    },
    run: async (session, words) => {
      const id = readId("account", words.operands[0]!);
      const grant = readAs(CreditGrant, {
        kind: words.option("kind"),
        amount: readNumber(words.option("amount")),
        note: words.option("note"),
      });
      const done = await session.change(id, async (tx, { actor }) => ({
        transfer_id: await grantCredits(tx, actor, grant, session.now()),
        credits: await findCredits(tx, id),
      }));
      return { json: done, text: creditsTable(done.credits) };
    },
  },
  {
    name: "credits show",
    summary: "Show an account's credit",
    operands: ["account"],
    run: async (session, words) => {
      const { id } = await session.account(readId("account", words.operands[0]!));
      const db = await session.database();
      const credits = await findCredits(db.query, id);
      return { json: credits, text: creditsTable(credits) };
    },
  },
];

function creditsTable({ chat, call }: CreditsResponse): string {
  const rows = [
    { kind: "chat", ...chat },
    { kind: "call", ...call },
  ];
  return textTable(rows, ["kind", "available", "reserved"]);
}
