// Replays of time ranges to callback endpoints.
import { deliveryFilter } from "../../../callbacks/deliveries/delivery-schema.ts";
import { validateReplay, replayRange } from "../../../callbacks/replays/replay-range.ts";
import { NewReplay, ReplayResponse } from "../../../callbacks/replays/replay-schema.ts";
import { findReplay, listReplays } from "../../../callbacks/replays/replays.ts";
import { notifyJob } from "../../../engine/add-job.ts";
import { closed, pageOf, pageQuery, pathId } from "../../../lib/schemas.ts";
import { route, type Access } from "../../route.ts";

const replays = "/api/v1/callbacks/replays";
const tag = "Callbacks";
const see: Access = { anyOf: ["callbacks.read", "callbacks.manage"] };

export const callbackReplayRoutes = [
  route({
    method: "POST",
    url: "/api/v1/callbacks/endpoints/:id/replay",
    id: "replayCallbackEndpoint",
    summary: "Replay the events of a time range to an endpoint",
    tag,
    access: { anyOf: ["callbacks.manage"] },
    params: closed({ id: pathId("The callback endpoint") }),
    body: NewReplay,
    success: { 202: ReplayResponse },
    validate: ({ app, caller, body }) =>
      validateReplay(body, caller.account.time_zone, app.clock.now()),
    handle: async ({ app, caller, actor, params: { id }, body, write }) => {
      const replay = { body, timeZone: caller.account.time_zone };
      const answer = await write((tx) => replayRange(tx, actor, id, replay, app.clock.now()));
      notifyJob(app, actor.account_id);
      return answer;
    },
  }),
  route({
    method: "GET",
    url: replays,
    id: "listCallbackReplays",
    summary: "List replays of time ranges, newest first",
    tag,
    access: see,
    query: closed({ endpoint_id: deliveryFilter.endpoint_id, ...pageQuery }),
    success: { 200: pageOf(ReplayResponse) },
    handle: ({ app, caller, query: { limit = 50, cursor, ...filter } }) =>
      listReplays(app.db.query, caller.account.id, filter, { limit, cursor }),
  }),
  route({
    method: "GET",
    url: `${replays}/:id`,
    id: "readCallbackReplay",
    summary: "Read a replay and its progress",
    tag,
    access: see,
    params: closed({ id: pathId("The replay") }),
    success: { 200: ReplayResponse },
    handle: ({ app, caller, params: { id } }) => findReplay(app.db.query, caller.account.id, id),
  }),
];
