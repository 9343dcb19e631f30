// The person of an erasure, by phone number or WhatsApp user ID.
import { bsuidKey } from "../../audience/suppressions/person-key.ts";
import type { App } from "../../engine/app.ts";
import { statement } from "../../lib/database/database.ts";
import { phoneKey, phoneSpellings } from "../../lib/phone-key.ts";
import type { Person } from "./part.ts";

/** The digits of a number that identify it without its calling code, at least. */
const national_digits = 10;

type Requested = {
  readonly account_id: number;
  readonly id: number;
  readonly phone: string | null;
  readonly bsuid: string | null;
  /** The calling code of the account's country. */
  readonly country_code: string;
};

/**
 * Returns the person of a pending erasure, with the other identities that the provider has reported so far: the
 * WhatsApp user IDs and the aliases of the phone.
 */
export async function readPerson(app: Pick<App, "db">, requested: Requested): Promise<Person> {
  const { account_id, id, bsuid } = requested;
  const { pool } = app.db;
  const [link] = await findLink(pool, [account_id, bsuid]);
  const phone = requested.phone ?? link?.phone_key ?? null;
  const phones = phone === null ? [] : [phone, ...(await aliasesOf(app, account_id, phone))];
  const phone_keys = phones.map(phoneKey);
  const links = await findBsuids(pool, [account_id, phone_keys]);
  const bsuids = [
    ...new Set([...(bsuid === null ? [] : [bsuid]), ...links.map((each) => each.bsuid)]),
  ];
  const keys = [...phone_keys, ...bsuids.map(bsuidKey)];
  const spellings = phones.flatMap(phoneSpellings);
  const forms = formsOf(spellings, requested.country_code);
  const texts = [...forms.digits, ...bsuids].map(
    (text) => `%${text.replaceAll(/[\\%_]/g, "\\$&")}%`,
  );
  const pattern = [...forms.patterns, ...bsuids.map(bsuidPattern)].join("|");
  const { numbers, digits } = forms;
  const identities = { phones, spellings, bsuids, keys, numbers, digits, texts, pattern };
  return { account_id, erasure_id: id, ...identities };
}

/** Returns the keys of the other numbers under which WhatsApp knows the phone. */
async function aliasesOf({ db }: Pick<App, "db">, accountId: number, phone: string) {
  const rows = await findAliases(db.pool, [accountId, phoneKey(phone)]);
  return rows.map(({ alias_key }) => alias_key);
}

const findLink = statement<{ phone_key: string | null }>(
  "select phone_key from person_bsuids where account_id = $1 and bsuid = $2",
);

// Both directions of an alias are stored. An alias of an alias is not followed.
const findAliases = statement<{ alias_key: string }>(
  "select alias_key from phone_aliases where account_id = $1 and phone_key = $2 order by alias_key",
);

const findBsuids = statement<{ bsuid: string }>(`
  select bsuid from person_bsuids where account_id = $1 and phone_key = any ($2::text[]) order by bsuid`);

/** Returns the forms in which texts and calls store numbers of these spellings. */
function formsOf(spellings: readonly string[], countryCode: string) {
  const nationals = spellings
    .filter((spelling) => spelling.startsWith(countryCode))
    .map((spelling) => spelling.slice(countryCode.length))
    .filter((national) => national.length >= national_digits);
  const foreign = spellings.filter(
    (spelling) => !nationals.some((national) => spelling === countryCode + national),
  );
  return {
    numbers: [
      ...spellings.flatMap((spelling) => [spelling, `+${spelling}`, `00${spelling}`]),
      ...nationals.flatMap((national) => [national, `0${national}`]),
    ],
    digits: [...nationals, ...foreign],
    patterns: [
      ...numberPatterns(`((00)?${countryCode}|0)?`, nationals),
      ...numberPatterns("(00)?", foreign),
    ],
  };
}

function numberPatterns(prefix: string, numbers: readonly string[]): string[] {
  return numbers.length === 0 ? [] : [`(?<![0-9])${prefix}(${numbers.join("|")})(?![0-9])`];
}

function bsuidPattern(bsuid: string): string {
  return `(?<![A-Za-z0-9])${bsuid.replaceAll(/[^A-Za-z0-9]/g, "\\$&")}(?![A-Za-z0-9])`;
}
