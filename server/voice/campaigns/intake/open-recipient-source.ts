// The recipient source of a list or of a group.
import type { SourceRow } from "../../../audience/intake/open-intake.ts";
import {
  openBatchSource,
  readGroup,
  type RecipientSource,
} from "../../../audience/recipients/recipient-source.ts";
import type { Executor } from "../../../lib/database/database.ts";
import type { Source } from "../internal/validate-voice-campaign.ts";
import type { PlanVariable } from "../internal/plan-variables.ts";
import { readNumberList } from "./number-list.ts";
import { localNumber, recipientOf, voice_format, type VoiceRecipient } from "./recipient-format.ts";

const batch_numbers = 5_000;

type Account = { readonly id: number; readonly country_code: string };

/** Opens the recipient source of a campaign without a file. */
export function openRecipientSource(
  db: Executor,
  { id, country_code }: Account,
  source: Exclude<Source, { send_to: "csv" }>,
  variables: readonly PlanVariable[],
): RecipientSource<VoiceRecipient> {
  return openBatchSource(voice_format, source.count, () =>
    source.send_to === "Numbers"
      ? readNumbers(source.list, country_code, variables)
      : readGroup(db, { account_id: id, group_id: source.group_id, field: "groupId" }, (member) =>
          recipientOf(
            member.phone,
            localNumber(member.phone, country_code),
            plannedVariables(member.variables, variables),
          ),
        ),
  );
}

/** Yields the rows of a list of ten-digit numbers, which have no variables. */
async function* readNumbers(
  list: string,
  countryCode: string,
  variables: readonly PlanVariable[],
): AsyncGenerator<readonly SourceRow<VoiceRecipient>[]> {
  const none = {
    variables: null,
    missing: variables.find(({ required }) => required)?.name ?? null,
  };
  let before = 0;
  for (const numbers of readNumberList(list, batch_numbers)) {
    const first = before + 1;
    yield numbers.map((number, i) => ({
      row: first + i,
      value: number,
      recipient: recipientOf(countryCode + number, number, none),
    }));
    before += numbers.length;
    // Yields to the event loop, because a list may have a million entries.
    await new Promise(setImmediate);
  }
}

/** Returns those of a member's variables that the campaign's texts use. */
function plannedVariables(
  own: Readonly<Record<string, string>>,
  variables: readonly PlanVariable[],
): { readonly variables: string | null; readonly missing: string | null } {
  const valueOf = (name: string) => (Object.hasOwn(own, name) ? own[name]! : "");
  const given = variables.filter(({ name }) => valueOf(name).trim() !== "");
  const missing = variables.find(({ name, required }) => required && valueOf(name).trim() === "");
  const kept = Object.fromEntries(given.map(({ name }) => [name, valueOf(name)]));
  return {
    variables: given.length > 0 ? JSON.stringify(kept) : null,
    missing: missing?.name ?? null,
  };
}
