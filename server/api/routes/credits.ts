import Type from "typebox";
import {
  creditKind,
  CreditsAnswer,
  CreditTransferAnswer,
  creditTransferType,
} from "../../credits/credit-schema.ts";
import { findCredits } from "../../credits/credits.ts";
import { listCreditLedger } from "../../credits/credit-ledger.ts";
import { knownId } from "../../lib/ids.ts";
import { closed, id, pageOf, pageQuery } from "../../lib/schemas.ts";
import { searches } from "../../lib/searches.ts";
import { route } from "../route.ts";
import { readTimeRange, timeRangeQuery } from "../time-range.ts";

export const creditRoutes = [
  route({
    method: "GET",
    url: "/api/v1/credits",
    id: "readCredits",
    summary: "Read what credit is available and reserved",
    tag: "Credits",
    access: { anyOf: ["credits.read"] },
    success: { 200: CreditsAnswer },
    // Sums up every transfer of what is still open.
    handle: ({ app, caller }) =>
      searches.use(caller.account.id, () => findCredits(app.db.query, caller.account.id)),
  }),
  route({
    method: "GET",
    url: "/api/v1/credits/ledger",
    id: "listCreditLedger",
    summary: "Read the ledger, newest first",
    tag: "Credits",
    access: { anyOf: ["credits.read"] },
    query: closed({
      kind: Type.Optional(creditKind),
      type: Type.Optional(creditTransferType),
      reservation_id: Type.Optional(id("One reservation's transfers")),
      ...timeRangeQuery,
      ...pageQuery,
    }),
    success: { 200: pageOf(CreditTransferAnswer) },
    handle: ({ app, caller, query }) =>
      listCreditLedger(
        app.db.query,
        caller.account.id,
        {
          ...query,
          ...readTimeRange(query, caller.account.time_zone),
          reservation_id:
            query.reservation_id === undefined ? undefined : knownId(query.reservation_id),
        },
        query,
      ),
  }),
];
