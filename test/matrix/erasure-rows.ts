// The rows of routes for erasures.
import type { RouteRow } from "./route-rows.ts";

const erasures = "/api/v1/erasures";

const erase = (request: RouteRow["request"]): RouteRow => ({
  features: null,
  may: ["people.erase"],
  request,
});

/** The rows by route ID. */
export const erasureRows: Record<string, RouteRow> = {
  requestErasure: erase(() => ({ path: erasures, json: { phone_number: "9876543210" } })),
  listErasures: erase(() => ({ path: `${erasures}?limit=2` })),
  readErasure: erase((ids) => ({ path: `${erasures}/${ids.erasure_id}` })),
};
