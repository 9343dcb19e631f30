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

/** Returns the person of a pending erasure, with the other identities that webhooks have reported so far. */
export async function readPerson(app: Pick<App, "db">, requested: Requested): Promise<Person> {
  const { account_id, id, bsuid } = requested;
  const links = await findLinks(app.db.pool, [account_id, requested.phone, bsuid]);
  const phone = requested.phone ?? links.find((link) => link.bsuid === bsuid)?.phone_key ?? null;
  const bsuids = [
    ...new Set([...(bsuid === null ? [] : [bsuid]), ...links.map((link) => link.bsuid)]),
  ];
  const keys = [...(phone === null ? [] : [phoneKey(phone)]), ...bsuids.map(bsuidKey)];
  const forms = formsOf(phone, requested.country_code);
  const texts = [...forms.digits, ...bsuids].map(
    (text) => `%${text.replaceAll(/[\\%_]/g, "\\$&")}%`,
  );
  const pattern = [...forms.patterns, ...bsuids.map(bsuidPattern)].join("|");
  const { numbers, digits } = forms;
  return { account_id, erasure_id: id, phone, bsuids, keys, numbers, digits, texts, pattern };
}

const findLinks = statement<{ bsuid: string; phone_key: string | null }>(`
  select b.bsuid, b.phone_key from person_bsuids b
  where b.account_id = $1 and (b.bsuid = $3 or b.phone_key = coalesce(phone_key($2),
    (select o.phone_key from person_bsuids o where o.account_id = $1 and o.bsuid = $3)))
  order by b.bsuid`);

/** Returns the forms in which texts and calls store a number. */
function formsOf(phone: string | null, countryCode: string) {
  const spellings = phone === null ? [] : phoneSpellings(phone);
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
