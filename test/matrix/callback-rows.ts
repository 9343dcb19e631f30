// The rows of callback endpoints.
import { unique } from "../support/makers.ts";
import type { RouteRow } from "./route-rows.ts";
import type { Ids } from "./seed-ids.ts";

const callbacks = "/api/v1/callbacks";

const see = (request: RouteRow["request"]): RouteRow => ({
  features: null,
  may: ["callbacks.read", "callbacks.manage"],
  request,
});
const manage = (request: RouteRow["request"]): RouteRow => ({
  features: null,
  may: ["callbacks.manage"],
  request,
});

const endpointOf = (ids: Ids) => `${callbacks}/endpoints/${ids.callback_endpoint_id}`;
const wanted = () => ({
  url: `https://example.com/${unique("callbacks")}`,
  description: "The shop",
  types: ["call.completed", "lead.created"],
});

/** By the route's id. */
export const callbackRows: Record<string, RouteRow> = {
  listEventTypes: see(() => ({ path: `${callbacks}/event-types` })),
  listCallbackEndpoints: see(() => ({
    path: `${callbacks}/endpoints?limit=2&kind=account&enabled=true`,
  })),
  createCallbackEndpoint: manage(() => ({ path: `${callbacks}/endpoints`, json: wanted() })),
  readCallbackEndpoint: see((ids) => ({ path: endpointOf(ids) })),
  updateCallbackEndpoint: manage((ids) => ({
    path: endpointOf(ids),
    json: { ...wanted(), enabled: false },
  })),
  deleteCallbackEndpoint: manage((ids) => ({ path: endpointOf(ids) })),
  readCallbackSecret: manage((ids) => ({ path: `${endpointOf(ids)}/secret` })),
  rotateCallbackSecret: manage((ids) => ({ path: `${endpointOf(ids)}/rotate` })),
  sendTestCallback: manage((ids) => ({ path: `${endpointOf(ids)}/test` })),
};
