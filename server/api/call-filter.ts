// The query fields that narrow a list or an export of calls.
import Type, { type Static } from "typebox";
import { readPersonPhone } from "../audience/intake/read-person-phone.ts";
import type { Caller } from "../accounts/caller.ts";
import { isExtension } from "../telephony/agent-groups/agent-number.ts";
import type { CallFilter, NumberForms } from "../calls/records/call-records.ts";
import { CallStatusQuery, readCallStatuses } from "../calls/records/call-record-schema.ts";
import { invalidField } from "../lib/errors.ts";
import { knownId } from "../lib/ids.ts";
import { id } from "../lib/schemas.ts";
import { readTimeRange, timeRangeQuery } from "./time-range.ts";

const text = (description: string) => Type.Optional(Type.String({ maxLength: 255, description }));

export const callFilterQuery = {
  campaign_id: Type.Optional(id("The campaignId of what was submitted")),
  reference: text("As it was sent"),
  number: Type.Optional(
    Type.String({
      maxLength: 64,
      description: "The agent's or the customer's: an extension, ten digits, or + and country code",
    }),
  ),
  status: Type.Optional(CallStatusQuery),
  ended_reason: text("As the report tells it"),
  to_group_id: Type.Optional(id("The customer group it was sent with")),
  ...timeRangeQuery,
};

type FilterQuery = {
  readonly [Key in keyof typeof callFilterQuery]?: Static<(typeof callFilterQuery)[Key]>;
};

/** The filter of a request; 422 on a time or number that is none. */
export function readCallFilter(query: FilterQuery, account: Caller["account"]): CallFilter {
  const { campaign_id, reference, number, status, ended_reason, to_group_id } = query;
  return {
    reference,
    ended_reason,
    ...readTimeRange(query, account.time_zone),
    campaign_id: campaign_id === undefined ? undefined : knownId(campaign_id),
    to_group_id: to_group_id === undefined ? undefined : knownId(to_group_id),
    status: status === undefined ? undefined : readCallStatuses(status),
    number: number === undefined ? undefined : readNumber(number, account.country_code),
  };
}

/** In a query an unescaped plus arrives as a space. */
function readNumber(asked: string, countryCode: string): NumberForms {
  const number = asked.replace(/^ /, "+").trim();
  if (isExtension(number)) return { agent: number, customer: null };
  const phone = readPersonPhone(number, countryCode);
  if (phone === null)
    throw invalidField(
      "number",
      "must be an extension, ten digits, or a number with + and its country code",
    );
  return { agent: phone, customer: phone };
}
