// Reports: counts of messages and calls.
import Type, { type Static } from "typebox";
import {
  exportCallReport,
  readCallReport,
  type CallReportQuery,
} from "../../reports/call-report.ts";
import {
  exportChatReport,
  readChatReport,
  type ChatReportQuery,
} from "../../reports/chat-report.ts";
import { call_groups, CallReport, chat_groups, ChatReport } from "../../reports/report-schema.ts";
import { readReportRange } from "../../reports/report-range.ts";
import { knownId } from "../../lib/ids.ts";
import { closed, id, pageQuery } from "../../lib/schemas.ts";
import { callFilterQuery, readCallFilter } from "./shared/call-filter.ts";
import { route, type RequestContext } from "../route.ts";
import { sendExport } from "./shared/send-csv.ts";

const tag = "Reports";
const chat = { features: ["bulk_chat"] } as const;
const calls = { features: ["calls", "voice"] } as const;
const see = { anyOf: ["reports.read"] } as const;
const exportReports = { anyOf: ["reports.export"] } as const;
/** A page has room for every day of the longest time range. */
const page = {
  ...pageQuery,
  limit: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 1_000, default: 400, description: "Rows a page" }),
  ),
};

const time = (description: string) => Type.Optional(Type.String({ maxLength: 64, description }));
const range = {
  from: time(
    "Inclusive: a time, or the beginning of a day such as 2026-01-31; without an offset, in the account's " +
      "time zone. Defaults to the last 30 days, today included",
  ),
  to: time("Exclusive: a time, or the beginning of a day. Defaults to now"),
};

const chatQuery = closed({
  group_by: Type.Enum(chat_groups, { type: "string", description: "One row for each" }),
  ...range,
  campaign_id: Type.Optional(id("Only this campaign")),
  chat_number_id: Type.Optional(id("Only messages sent from this number")),
});

const callQuery = closed({
  group_by: Type.Enum(call_groups, { type: "string", description: "One row for each" }),
  ...range,
  type: callFilterQuery.type,
  campaign_id: callFilterQuery.campaign_id,
  number: callFilterQuery.number,
});

type ReportRequest<Query> = Pick<
  RequestContext<unknown, Query, unknown>,
  "app" | "caller" | "query"
>;

function readChatFilter({
  app,
  caller,
  query,
}: ReportRequest<Static<typeof chatQuery>>): ChatReportQuery {
  const { account } = caller;
  const { group_by, campaign_id, chat_number_id } = query;
  const now = app.clock.now();
  return {
    ...readReportRange(query, account.time_zone, now),
    account_id: account.id,
    time_zone: account.time_zone,
    now,
    group_by,
    campaign_id: campaign_id === undefined ? undefined : knownId(campaign_id),
    chat_number_id: chat_number_id === undefined ? undefined : knownId(chat_number_id),
  };
}

function readCallsFilter({
  app,
  caller,
  query,
}: ReportRequest<Static<typeof callQuery>>): CallReportQuery {
  const { account } = caller;
  const { group_by, type, from: _from, to: _to, ...filter } = query;
  const { campaign_id, number } = readCallFilter(filter, account);
  return {
    ...readReportRange(query, account.time_zone, app.clock.now()),
    account_id: account.id,
    time_zone: account.time_zone,
    country_code: account.country_code,
    group_by,
    type,
    campaign_id,
    number,
  };
}

export const reportRoutes = [
  route({
    method: "GET",
    url: "/api/v1/reports/chat",
    id: "readChatReport",
    from_replica: true,
    summary: "Count campaign messages by campaign, day or number",
    tag,
    access: { ...chat, ...see },
    query: closed({ ...chatQuery.properties, ...page }),
    success: { 200: ChatReport },
    handle: async (context) => {
      const { limit = 400, cursor } = context.query;
      return readChatReport(context.app.db, readChatFilter(context), { limit, cursor });
    },
  }),
  route({
    method: "GET",
    url: "/api/v1/reports/chat/export",
    id: "exportChatReport",
    from_replica: true,
    summary: "Export message counts to CSV",
    tag,
    access: { ...chat, ...exportReports },
    query: chatQuery,
    success: { 200: { contentType: "text/csv" } },
    handle: async (context) => {
      const file = `chat-report-by-${context.query.group_by}.csv`;
      const chunks = exportChatReport(context.app.db, readChatFilter(context));
      return sendExport(context, { action: "chat_report.exported", file }, chunks);
    },
  }),
  route({
    method: "GET",
    url: "/api/v1/reports/calls",
    id: "readCallReport",
    from_replica: true,
    summary: "Count calls by campaign, day, number or agent",
    tag,
    access: { ...calls, ...see },
    query: closed({ ...callQuery.properties, ...page }),
    success: { 200: CallReport },
    handle: async (context) => {
      const { limit = 400, cursor } = context.query;
      return readCallReport(context.app.db, readCallsFilter(context), { limit, cursor });
    },
  }),
  route({
    method: "GET",
    url: "/api/v1/reports/calls/export",
    id: "exportCallReport",
    from_replica: true,
    summary: "Export call counts to CSV",
    tag,
    access: { ...calls, ...exportReports },
    query: callQuery,
    success: { 200: { contentType: "text/csv" } },
    handle: async (context) => {
      const file = `call-report-by-${context.query.group_by}.csv`;
      const chunks = exportCallReport(context.app.db, readCallsFilter(context));
      return sendExport(context, { action: "call_report.exported", file }, chunks);
    },
  }),
];
