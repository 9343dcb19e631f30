import { assignPhoneNumber } from "../telephony/numbers/assign-phone-number.ts";
import { NewNumberAssignment } from "../telephony/numbers/phone-number-schema.ts";
import { listNumberAssignments } from "../telephony/numbers/phone-numbers.ts";
import { unassignPhoneNumber } from "../telephony/numbers/unassign-phone-number.ts";
import type { Command } from "./command.ts";
import { everyPage } from "./every-page.ts";
import { trail } from "./node-commands.ts";
import { readAs, readId } from "./read-words.ts";
import { textTable } from "./text-table.ts";

const columns = ["number", "account_id", "assigned_at"] as const;

export const numberCommands: readonly Command[] = [
  {
    name: "number assign",
    summary: "Assign a phone number (caller ID) to an account",
    operands: ["number"],
    options: {
      to: { value: "account", about: "The account that owns it", required: true },
      account: trail,
    },
    run: async (session, words) => {
      const account_id = readId("to", words.option("to")!);
      const wanted = readAs(NewNumberAssignment, { number: words.operands[0], account_id });
      const assigned = await session.change(
        readId("account", words.option("account")!),
        (tx, { actor }) => assignPhoneNumber(tx, actor, wanted, session.now()),
      );
      return { json: assigned, text: textTable([assigned], columns) };
    },
  },
  {
    name: "number list",
    summary: "List the phone numbers and the accounts that own them",
    run: async (session) => {
      const db = await session.migratedDatabase();
      const found = await everyPage((page) => listNumberAssignments(db.query, page));
      return { json: { data: found }, text: textTable(found, columns) };
    },
  },
  {
    name: "number remove",
    summary: "Take a phone number from its account",
    operands: ["number"],
    options: { account: trail },
    run: async (session, words) => {
      const number = words.operands[0]!;
      await session.change(readId("account", words.option("account")!), (tx, { actor }) =>
        unassignPhoneNumber(tx, actor, number, session.now()),
      );
      return { json: { number }, text: `Number ${number} removed` };
    },
  },
];
