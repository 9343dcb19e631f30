// Everybody of a list or of a group, in batches.
import { openGroupMembers } from "../../../audience/groups/group-members.ts";
import type { Executor } from "../../../lib/database/database.ts";
import type { PlanVariable } from "../internal/plan-variables.ts";
import { readNumberList } from "./number-list.ts";
import type { Person } from "./open-intake.ts";

const numbers_a_batch = 5_000;

/** The people of a list of ten-digit numbers, who have no variables. */
export async function* bringNumbers(
  list: string,
  countryCode: string,
  variables: readonly PlanVariable[],
): AsyncGenerator<readonly Person[]> {
  const missing = variables.find(({ required }) => required)?.name ?? null;
  let before = 0;
  for (const numbers of readNumberList(list, numbers_a_batch)) {
    const first = before + 1;
    yield numbers.map((number, i): Person => {
      const phone = countryCode + number;
      return { row: first + i, value: number, phone, number, variables: null, missing };
    });
    before += numbers.length;
    // A long list leaves the server time for others.
    await new Promise(setImmediate);
  }
}

/** The members of a group; of their variables, those that are needed. Does not run within a COPY. */
export async function* bringMembers(
  db: Executor,
  account: { readonly id: number; readonly country_code: string },
  groupId: number,
  variables: readonly PlanVariable[],
): AsyncGenerator<readonly Person[]> {
  let before = 0;
  for await (const members of openGroupMembers(db, account.id, groupId)) {
    const first = before + 1;
    yield members.map(({ phone, variables: own }, i): Person => {
      const number = localNumber(phone, account.country_code);
      return { row: first + i, value: phone, phone, number, ...valuesOf(own, variables) };
    });
    before += members.length;
  }
}

/** Ten digits where the phone is of the account's country. */
function localNumber(phone: string, countryCode: string): string {
  const isLocal = phone.length === countryCode.length + 10 && phone.startsWith(countryCode);
  return isLocal ? phone.slice(countryCode.length) : phone;
}

function valuesOf(
  own: Readonly<Record<string, string>>,
  variables: readonly PlanVariable[],
): Pick<Person, "variables" | "missing"> {
  const valueOf = (name: string) => (Object.hasOwn(own, name) ? own[name]! : "");
  const given = variables.filter(({ name }) => valueOf(name).trim() !== "");
  const missing = variables.find(({ name, required }) => required && valueOf(name).trim() === "");
  const kept = Object.fromEntries(given.map(({ name }) => [name, valueOf(name)]));
  return {
    variables: given.length > 0 ? JSON.stringify(kept) : null,
    missing: missing?.name ?? null,
  };
}
