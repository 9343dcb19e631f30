// The query fields that narrow a list or an export of calls.
import Type, { type Static } from "typebox";
import { readPersonPhone } from "../../../audience/intake/read-person-phone.ts";
import type { Caller } from "../../../accounts/caller.ts";
import { isExtension } from "../../../telephony/agent-groups/agent-number.ts";
import type { CallFilter, NumberForms } from "../../../calls/records/call-records.ts";
import {
  call_record_types,
  CallStatusQuery,
  readCallStatuses,
} from "../../../calls/records/call-record-schema.ts";
import { invalidField } from "../../../lib/errors.ts";
import { knownId } from "../../../lib/ids.ts";
import { phoneSpellings } from "../../../lib/phone-key.ts";
import { id } from "../../../lib/schemas.ts";
import { readTimeRange, timeRangeQuery } from "./time-range.ts";

const textQuery = (description: string) =>
  Type.Optional(Type.String({ maxLength: 255, description }));

export const callFilterQuery = {
  type: Type.Optional(
    Type.Enum(call_record_types, {
      type: "string",
      description: "Only click-to-calls, calls of voice campaigns, or incoming calls",
    }),
  ),
  campaign_id: Type.Optional(id("The campaignId of the submission")),
  reference: textQuery("Exact reference of the call"),
  number: Type.Optional(
    Type.String({
      maxLength: 64,
      description:
        "Number of the agent or the customer: an extension, ten digits, or + and country code",
    }),
  ),
  status: Type.Optional(CallStatusQuery),
  ended_reason: textQuery("As in the call record"),
  to_group_id: Type.Optional(id("Customer group of the submission")),
  ...timeRangeQuery,
};

type FilterQuery = {
  readonly [Key in keyof typeof callFilterQuery]?: Static<(typeof callFilterQuery)[Key]>;
};

/** Reads the filter of a request; 422 on an invalid time or number. */
export function readCallFilter(query: FilterQuery, account: Caller["account"]): CallFilter {
  const { type, campaign_id, reference, number, status, ended_reason, to_group_id } = query;
  return {
    type,
    reference,
    ended_reason,
    ...readTimeRange(query, account.time_zone),
    campaign_id: campaign_id === undefined ? undefined : knownId(campaign_id),
    to_group_id: to_group_id === undefined ? undefined : knownId(to_group_id),
    status: status === undefined ? undefined : readCallStatuses(status),
    number: number === undefined ? undefined : readNumber(number, account.country_code),
  };
}

/** An unescaped plus in a query arrives as a space. */
function readNumber(text: string, countryCode: string): NumberForms {
  const number = text.replace(/^ /, "+").trim();
  if (isExtension(number)) return { agent: [number], customer: [] };
  const phone = readPersonPhone(number, countryCode);
  if (phone === null)
    throw invalidField(
      "number",
      "must be an extension, ten digits, or a number with + and its country code",
    );
  const spellings = phoneSpellings(phone);
  return { agent: spellings, customer: spellings };
}
