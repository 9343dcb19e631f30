// The query fields that narrow a list or an export of leads.
import Type, { type Static } from "typebox";
import type { LeadFilter } from "../../../crm/leads/list-leads.ts";
import { invalid, type FieldError } from "../../../lib/errors.ts";
import { parseTimeOrDay } from "../../../lib/parse-time.ts";
import { tenDigits } from "../../../lib/phone-numbers.ts";
import { id, phone10 } from "../../../lib/schemas.ts";

const time = (description: string) => Type.String({ maxLength: 64, description });

export const search = Type.String({
  maxLength: 100,
  description:
    "Digits match the start of the phone, a number with the country code the whole phone; other text matches a part " +
    "of name or email",
});

/** Returns the ten digits of a number that is written with a country code or a 0, or the text. */
export function readSearch(text: string, countryCode: string): string {
  return tenDigits(text, countryCode) ?? text;
}

export const leadFilterQuery = {
  statusId: Type.Optional(id("Picklist option")),
  sourceId: Type.Optional(id("Picklist option")),
  priorityId: Type.Optional(id("Picklist option")),
  assignedAgentId: Type.Optional(id("User id of the assigned agent")),
  contactId: Type.Optional(id("Contact")),
  phone: Type.Optional(phone10("The lead's number")),
  createdFrom: Type.Optional(
    time("ISO 8601 or a day, inclusive; without an offset, the account's zone"),
  ),
  createdTo: Type.Optional(
    time("ISO 8601 or a day, exclusive; without an offset, the account's zone"),
  ),
  q: Type.Optional(search),
};

type FilterQuery = {
  readonly [Key in keyof typeof leadFilterQuery]?: Static<(typeof leadFilterQuery)[Key]>;
};

/** Reads the filter of a request, its times and numbers as the account's; 422 on each invalid time. */
export function readLeadFilter(
  query: FilterQuery,
  account: { readonly time_zone: string; readonly country_code: string },
): LeadFilter {
  const violations: FieldError[] = [];
  const readTime = (field: "createdFrom" | "createdTo") => {
    const text = query[field];
    if (text === undefined) return {};
    const at = parseTimeOrDay(text, account.time_zone);
    if (at instanceof Date) return { [field]: at };
    violations.push({ field, reason: at });
    return {};
  };
  const { createdFrom: _from, createdTo: _to, q, ...rest } = query;
  const filter = {
    ...rest,
    ...(q === undefined ? {} : { q: readSearch(q, account.country_code) }),
    ...readTime("createdFrom"),
    ...readTime("createdTo"),
  };
  if (violations.length > 0) throw invalid(violations);
  return filter;
}
