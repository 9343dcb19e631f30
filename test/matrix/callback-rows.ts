// The rows of routes for callback endpoints, deliveries and replays.
import { unique } from "../support/account-factory.ts";
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
const deliveryOf = (ids: Ids) => `${callbacks}/deliveries/${ids.callback_delivery_id}`;
const wanted = () => ({
  url: `https://example.com/${unique("callbacks")}`,
  description: "The shop",
  // What callbacks.manage alone shows.
  types: ["callback.test", "callback.endpoint.disabled"],
});

/** The rows by route ID. */
export const callbackRows: Record<string, RouteRow> = {
  listEventTypes: see(() => ({ path: `${callbacks}/event-types` })),
  listCallbackEndpoints: see(() => ({
    path: `${callbacks}/endpoints?limit=2&kind=account&enabled=true&url=https://example.com/callbacks`,
  })),
  createCallbackEndpoint: manage(() => ({ path: `${callbacks}/endpoints`, json: wanted() })),
  readCallbackEndpoint: see((ids) => ({ path: endpointOf(ids) })),
  updateCallbackEndpoint: manage((ids) => ({
    path: endpointOf(ids),
    // The URL that it has: callbacks.manage alone does not show the types that it has.
    json: { ...wanted(), url: "https://example.com/callbacks", enabled: false },
  })),
  deleteCallbackEndpoint: manage((ids) => ({ path: endpointOf(ids) })),
  readCallbackSecret: manage((ids) => ({ path: `${endpointOf(ids)}/secret` })),
  rotateCallbackSecret: manage((ids) => ({ path: `${endpointOf(ids)}/rotate` })),
  sendTestCallback: manage((ids) => ({ path: `${endpointOf(ids)}/test` })),
  listCallbackDeliveries: see((ids) => ({
    path:
      `${callbacks}/deliveries?limit=2&endpoint_id=${ids.callback_endpoint_id}&state=failed` +
      `&type=lead.created&from=2020-01-01T00:00:00Z`,
  })),
  readCallbackDelivery: see((ids) => ({ path: deliveryOf(ids) })),
  replayCallbackDelivery: manage((ids) => ({ path: `${deliveryOf(ids)}/replay` })),
  listCallbackReplays: see((ids) => ({
    path: `${callbacks}/replays?limit=2&endpoint_id=${ids.callback_endpoint_id}`,
  })),
  readCallbackReplay: see((ids) => ({ path: `${callbacks}/replays/${ids.callback_replay_id}` })),
  replayCallbackEndpoint: manage((ids) => ({
    path: `${endpointOf(ids)}/replay`,
    json: { from: "2020-01-01T00:00:00Z", to: "2020-01-02T00:00:00Z", include: "all" },
  })),
};
