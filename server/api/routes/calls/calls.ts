// Call records, recordings, and call control.
import Type from "typebox";
import { searchOn } from "../../../lib/database/cursor.ts";
import { CallDetail, CallRecord, ListedCall } from "../../../calls/records/call-record-schema.ts";
import { findCallDetail, findCallRecord, listCalls } from "../../../calls/records/call-records.ts";
import { exportCalls } from "../../../calls/records/export-calls.ts";
import { hangUpCall } from "../../../calls/controls/hang-up-call.ts";
import { readCallMessage } from "../../../calls/audio/read-call-message.ts";
import { readCallRecording } from "../../../calls/audio/read-call-recording.ts";
import { retryCall } from "../../../calls/controls/retry-call.ts";
import { transferCall } from "../../../calls/controls/transfer-call.ts";
import type { Caller } from "../../../accounts/caller.ts";
import { readPersonPhone } from "../../../audience/intake/read-person-phone.ts";
import type { App } from "../../../engine/app.ts";
import { closed, pageOf, pageQuery, pathId } from "../../../lib/schemas.ts";
import { callFilterQuery, readCallFilter } from "../shared/call-filter.ts";
import { route, type Access } from "../../route.ts";
import { withContactNames } from "../shared/with-contact-names.ts";
import { sendExport } from "../shared/send-csv.ts";
import { askedRange, sendWavStream } from "../shared/send-wav.ts";

const calls = "/api/v1/calls";
const call = `${calls}/:id`;
const tag = "Calls";
const see: Access = { features: ["calls", "voice"], anyOf: ["calls.read", "calls.manage"] };
const manage: Access = { features: ["calls", "voice"], anyOf: ["calls.manage"] };
const params = closed({ id: pathId("The call") });

/** Adds the names of the customers to calls. */
function withNames<Record extends Pick<CallRecord, "to_number">>(
  app: Pick<App, "db">,
  caller: Caller,
  records: readonly Record[],
): Promise<(Record & Pick<ListedCall, "contact_name">)[]> {
  const { country_code } = caller.account;
  return withContactNames(app, caller, records, (record) =>
    readPersonPhone(record.to_number, country_code),
  );
}

const recordRoutes = [
  route({
    method: "GET",
    url: calls,
    id: "listCalls",
    from_replica: true,
    summary: "List calls, newest first",
    tag,
    access: see,
    query: closed({ ...callFilterQuery, ...pageQuery }),
    success: { 200: pageOf(ListedCall) },
    handle: ({ app, caller, query }) => {
      const { limit = 50, cursor, ...filter } = query;
      const at = { limit, cursor };
      const { account } = caller;
      return searchOn(at, async (part) => {
        const asked = readCallFilter(filter, account);
        const { data, next_cursor } = await listCalls(app.db.query, account.id, asked, part);
        return { data: await withNames(app, caller, data), next_cursor };
      });
    },
  }),
  route({
    method: "GET",
    url: `${calls}/export`,
    id: "exportCalls",
    from_replica: true,
    summary: "Export calls to CSV, newest first",
    tag,
    access: { features: ["calls", "voice"], anyOf: ["calls.export"] },
    query: closed(callFilterQuery),
    success: { 200: { contentType: "text/csv" } },
    handle: async (context) => {
      const { app, caller, query } = context;
      const filter = readCallFilter(query, caller.account);
      const entry = { action: "calls.exported" as const, file: "calls.csv" };
      return sendExport(context, entry, exportCalls(app, caller.account.id, filter));
    },
  }),
  route({
    method: "GET",
    url: call,
    id: "readCall",
    summary: "Read a call with its events and its request",
    tag,
    access: see,
    params,
    success: { 200: CallDetail },
    handle: async ({ app, caller, params: { id } }) => {
      const detail = await findCallDetail(app.db.query, caller.account.id, id);
      const [named] = await withNames(app, caller, [detail]);
      return named!;
    },
  }),
  route({
    method: "GET",
    url: `${call}/recording`,
    id: "readCallRecording",
    summary: "Download a call's recording, or the range of bytes that a player asks for",
    tag,
    access: see,
    params,
    success: { 200: { contentType: "audio/wav" }, 206: { contentType: "audio/wav" } },
    handle: async ({ app, actor, params: { id }, request, reply }) => {
      const range = askedRange(request);
      const in_parts = range !== null;
      const recording = await readCallRecording(app, actor, { id, in_parts });
      return sendWavStream(request, reply, recording, { file: `call-${id}.wav`, range });
    },
  }),
  route({
    method: "GET",
    url: `${call}/messages/:n`,
    id: "readCallMessage",
    summary: "Download a message that a caller left, or a range of its bytes",
    tag,
    access: see,
    params: closed({ id: pathId("The call"), n: pathId("1 for the first message") }),
    success: { 200: { contentType: "audio/wav" }, 206: { contentType: "audio/wav" } },
    handle: async ({ app, actor, params: { id, n }, request, reply }) => {
      const range = askedRange(request);
      const in_parts = range !== null;
      const message = await readCallMessage(app, actor, { id, n, in_parts });
      return sendWavStream(request, reply, message, { file: `call-${id}-message-${n}.wav`, range });
    },
  }),
];

const controlRoutes = [
  route({
    method: "POST",
    url: `${call}/hangup`,
    id: "hangUpCall",
    summary: "Hang up a call, or cancel one that is queued",
    tag,
    access: manage,
    params,
    success: { 200: CallRecord },
    handle: async ({ app, actor, params: { id }, write }) => {
      const now = app.clock.now();
      let node_id: number | undefined;
      const answer = await write(async (tx) => {
        ({ node_id } = await hangUpCall(tx, actor, id, now));
        return findCallRecord(tx, actor.account_id, id);
      });
      if (node_id !== undefined) app.notifications.send("call_command", String(node_id));
      return answer;
    },
  }),
  route({
    method: "POST",
    url: `${call}/transfer`,
    id: "transferCall",
    summary: "Transfer the customer of a call in progress to an extension",
    tag,
    access: manage,
    params,
    body: closed(
      {
        extension: Type.String({
          pattern: "^[0-9]{2,6}$",
          description: "An extension of the account",
          "x-reason": "must be an extension, 2 to 6 digits",
        }),
      },
      { title: "CallTransfer", examples: [{ extension: "102" }] },
    ),
    success: { 200: CallRecord },
    handle: async ({ app, actor, params: { id }, body: { extension }, write }) => {
      const now = app.clock.now();
      let node_id: number | undefined;
      const answer = await write(async (tx) => {
        ({ node_id } = await transferCall(tx, actor, { id, extension }, now));
        return findCallRecord(tx, actor.account_id, id);
      });
      if (node_id !== undefined) app.notifications.send("call_command", String(node_id));
      return answer;
    },
  }),
  route({
    method: "POST",
    url: `${call}/retry`,
    id: "retryCall",
    summary: "Retry a call that did not connect agent and customer",
    tag,
    access: manage,
    params,
    body: closed(
      {
        leg: Type.Enum(["agent", "customer"], {
          type: "string",
          description: "The leg that did not answer in the last attempt that dialed one",
        }),
      },
      { title: "CallRetry", examples: [{ leg: "customer" }] },
    ),
    success: { 201: CallRecord },
    handle: async ({ app, actor, params: { id }, body: { leg }, write }) => {
      const now = app.clock.now();
      const { account_id } = actor;
      let node_id: number | undefined;
      const answer = await write(async (tx) => {
        const added = await retryCall(tx, actor, { id, leg }, now);
        node_id = added.node_id;
        return findCallRecord(tx, account_id, added.call_id);
      });
      if (node_id !== undefined) app.notifications.send("call_work", `${node_id}:${account_id}`);
      return answer;
    },
  }),
];

export const callRoutes = [...recordRoutes, ...controlRoutes];
