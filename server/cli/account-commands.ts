import Type from "typebox";
import { AccountLimits } from "../accounts/accounts/account-limits-schema.ts";
import { AccountRequest } from "../accounts/accounts/account-schema.ts";
import { findAccount, findFrozenAccounts, listAccounts } from "../accounts/accounts/accounts.ts";
import { validateDestinations } from "../accounts/accounts/call-destinations.ts";
import { createAccount } from "../accounts/accounts/create-account.ts";
import { operatorOf } from "../accounts/roles/grantor.ts";
import { validateAccount } from "../accounts/accounts/validate-account.ts";
import { features } from "../accounts/permissions.ts";
import { recordAudit } from "../accounts/audit/record-audit.ts";
import { setAccountFeatures } from "../accounts/accounts/set-account-features.ts";
import { setAccountLimits } from "../accounts/accounts/set-account-limits.ts";
import { invalid } from "../lib/errors.ts";
import { UsageError, type Command, type Outcome, type Words } from "./command.ts";
import { readAs, readId, readList, readNumber } from "./read-words.ts";
import type { Session } from "./session.ts";
import { textTable } from "./text-table.ts";

const columns = ["id", "name", "features", "country_code", "time_zone"] as const;
const shown_limits = [
  "id",
  "name",
  "chat_writes_a_minute",
  "call_pulse_seconds",
  "call_destinations",
  "call_caps",
  "calling_hours",
  "region_locked",
  "storage_megabytes",
  "storage_used_bytes",
  "requests_a_minute",
  "token_requests_a_minute",
] as const;
const feature_list = `A list of ${features.join(",")}`;

export const accountCommands: readonly Command[] = [
  {
    name: "account create",
    summary: "Create an account and its owner",
    options: {
      name: { value: "name", about: "The account's name", required: true },
      "owner-name": { value: "name", about: "The owner's name", required: true },
      "owner-email": { value: "email", about: "The owner's e-mail", required: true },
      features: { value: "list", about: `${feature_list}; default none` },
      "country-code": { value: "digits", about: "Of ten-digit numbers; default 91" },
      "time-zone": { value: "zone", about: "IANA name; default UTC" },
    },
    run: create,
  },
  {
    name: "account list",
    summary: "List all accounts",
    run: async (session) => {
      const db = await session.migratedDatabase();
      const frozen = await findFrozenAccounts(db.query);
      const accounts = (await listAccounts(db.query)).map((account) => ({
        ...account,
        frozen: frozen.has(account.id),
      }));
      return { json: { data: accounts }, text: textTable(accounts, [...columns, "frozen"]) };
    },
  },
  {
    name: "account features",
    summary: "Show or set an account's features",
    operands: ["account"],
    options: {
      set: { value: "list", about: `${feature_list}; replaces the current ones; "" for none` },
    },
    run: async (session, words) => {
      const id = readId("account", words.operands[0]!);
      const set = words.option("set");
      if (set === undefined) return accountOutcome(await session.account(id));
      const wanted = readAs(Type.Object({ features: AccountRequest.properties.features }), {
        features: readList(set),
      });
      return accountOutcome(
        await session.change(id, (tx, { actor }) =>
          setAccountFeatures(tx, actor, wanted.features, session.now()),
        ),
      );
    },
  },
  {
    name: "account limits",
    summary: "Show or set an account's limits",
    operands: ["account"],
    options: {
      "chat-writes-a-minute": {
        value: "number",
        about: "Chat campaigns the account may create per minute, 1 to 100000",
      },
      "call-pulse-seconds": {
        value: "number",
        about: "Seconds of each leg that one call credit pays for, 1 to 3600",
      },
      "call-caps": {
        value: "json",
        about: `Caps on legs and credits, such as {"number": {"legs_hour": 120}}; null for none`,
      },
      "call-destinations": {
        value: "list",
        about: `Countries that it may call, such as IN,AE, or *; "" for that of its country code`,
      },
      "calling-hours": {
        value: "hours",
        about: 'The hours that its calling window must lie within, such as 08:00-21:00; "" for any',
      },
      "region-locked": {
        value: "yes|no",
        about: "Whether its country code and time zone are fixed",
      },
      "storage-megabytes": {
        value: "number",
        about: "Storage of audio and imports, 1 to 1000000000",
      },
      "requests-a-minute": {
        value: "number",
        about: "Requests per minute of all the account's tokens together",
      },
      "token-requests-a-minute": {
        value: "number",
        about: "Requests per minute of each of its tokens",
      },
    },
    run: async (session, words) => {
      const id = readId("account", words.operands[0]!);
      const given = {
        chat_writes_a_minute: readNumber(words.option("chat-writes-a-minute")),
        call_pulse_seconds: readNumber(words.option("call-pulse-seconds")),
        call_caps: readCaps(words.option("call-caps")),
        call_destinations_allowed: readDestinations(words.option("call-destinations")),
        calling_hours_allowed: readHours(words.option("calling-hours")),
        region_locked: readYes(words.option("region-locked")),
        storage_megabytes: readNumber(words.option("storage-megabytes")),
        requests_a_minute: readNumber(words.option("requests-a-minute")),
        token_requests_a_minute: readNumber(words.option("token-requests-a-minute")),
      };
      if (Object.values(given).every((value) => value === undefined))
        return limitsOutcome(await session.account(id));
      const wanted = readAs(AccountLimits, given);
      const { call_destinations_allowed } = wanted;
      const violations = validateDestinations("call-destinations", call_destinations_allowed);
      if (violations.length > 0) throw invalid(violations);
      return limitsOutcome(
        await session.change(id, (tx, { actor }) =>
          setAccountLimits(tx, actor, wanted, session.now()),
        ),
      );
    },
  },
];

function readCaps(text: string | undefined): unknown {
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    throw new UsageError(`--call-caps must be JSON, such as {"number": {"legs_hour": 60}}`);
  }
}

/** The empty text stands for null, any hours. */
function readHours(text: string | undefined): string | null | undefined {
  return text === "" ? null : text;
}

/** Any other text is left to the schema to refuse. */
function readYes(text: string | undefined): boolean | string | undefined {
  return text === "yes" ? true : text === "no" ? false : text;
}

/** The empty text stands for null, the country of the account's country code. */
function readDestinations(text: string | undefined): string[] | null | undefined {
  if (text === undefined || text === "") return text === "" ? null : undefined;
  return readList(text);
}

type Account = Awaited<ReturnType<typeof findAccount>>;

function accountOutcome(account: Account): Outcome {
  return { json: account, text: textTable([account], columns) };
}

function limitsOutcome(account: Account): Outcome {
  const { id, name, chat, calls, requests, storage } = account;
  const limits = {
    id,
    name,
    chat_writes_a_minute: chat.writes_a_minute,
    call_pulse_seconds: calls.pulse_seconds,
    call_destinations: calls.destinations_allowed,
    call_caps: calls.caps,
    calling_hours: calls.calling_hours_allowed,
    region_locked: account.region_locked,
    storage_megabytes: storage.megabytes_max,
    storage_used_bytes: storage.used_bytes,
    requests_a_minute: requests.a_minute,
    token_requests_a_minute: requests.of_token_a_minute,
  };
  const row = { ...limits, call_caps: JSON.stringify(calls.caps) };
  return { json: limits, text: textTable([row], shown_limits) };
}

async function create(session: Session, words: Words): Promise<Outcome> {
  const wanted = readAs(AccountRequest, {
    name: words.option("name"),
    owner_name: words.option("owner-name"),
    owner_email: words.option("owner-email"),
    features: readList(words.option("features") ?? ""),
    country_code: words.option("country-code"),
    time_zone: words.option("time-zone"),
  });
  const violations = validateAccount(wanted);
  if (violations.length > 0) throw invalid(violations);
  const db = await session.migratedDatabase();
  const now = session.now();
  const made = await db.query.transaction().execute(async (tx) => {
    const { account_id, owner_id } = await createAccount(
      tx,
      { ...wanted, owner: { name: wanted.owner_name, email: wanted.owner_email } },
      now,
    );
    await recordAudit(tx, operatorOf(account_id, session.request_id).actor, {
      at: now,
      action: "account.created",
      subject_id: account_id,
      detail: { features: wanted.features, owner_id },
    });
    return { ...(await findAccount(tx, account_id)), owner_id };
  });
  const next = `npx trunkline token create --account ${made.id} --kind account --name first`;
  const text = `${textTable([made], [...columns, "owner_id"])}\n\nCreate its first token with: ${next}`;
  return { json: made, text };
}
