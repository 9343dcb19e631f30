// Deliveries to callback endpoints, and the replay of one.
import { listDeliveries, findDeliveryRecord } from "../../../callbacks/deliveries/deliveries.ts";
import {
  DeliveryDetail,
  deliveryFilter,
  DeliveryRecord,
} from "../../../callbacks/deliveries/delivery-schema.ts";
import { findDelivery } from "../../../callbacks/deliveries/find-delivery.ts";
import { replayDelivery } from "../../../callbacks/replays/replay-delivery.ts";
import { closed, pageOf, pageQuery, pathId } from "../../../lib/schemas.ts";
import { route, type Access } from "../../route.ts";
import { readTimeRange, timeRangeQuery } from "../shared/time-range.ts";

const deliveries = "/api/v1/callbacks/deliveries";
const delivery = `${deliveries}/:id`;
const tag = "Callbacks";
const see: Access = { anyOf: ["callbacks.read", "callbacks.manage"] };
const manage: Access = { anyOf: ["callbacks.manage"] };
const params = closed({ id: pathId("The delivery") });

export const callbackDeliveryRoutes = [
  route({
    method: "GET",
    url: deliveries,
    id: "listCallbackDeliveries",
    from_replica: true,
    summary: "List deliveries, newest first",
    tag,
    access: see,
    query: closed({ ...deliveryFilter, ...timeRangeQuery, ...pageQuery }),
    success: { 200: pageOf(DeliveryRecord) },
    handle: ({ app, caller, query }) => {
      const filter = { ...query, ...readTimeRange(query, caller.account.time_zone) };
      return listDeliveries(app.db.query, caller.account.id, filter, query);
    },
  }),
  route({
    method: "GET",
    url: delivery,
    id: "readCallbackDelivery",
    summary: "Read a delivery with its payload and every attempt",
    tag,
    access: see,
    params,
    success: { 200: DeliveryDetail },
    handle: ({ app, caller, params: { id } }) => findDelivery(app.db.query, caller.account.id, id),
  }),
  route({
    method: "POST",
    url: `${delivery}/replay`,
    id: "replayCallbackDelivery",
    summary: "Replay a delivery under the same webhook-id",
    tag,
    access: manage,
    params,
    success: { 202: DeliveryRecord },
    handle: async ({ app, actor, params: { id }, write }) => {
      const { account_id } = actor;
      const answer = await write(async (tx) => {
        await replayDelivery(tx, actor, id, app.clock.now());
        return findDeliveryRecord(tx, account_id, id);
      });
      app.notifications.send("callback_work", String(account_id));
      return answer;
    },
  }),
];
