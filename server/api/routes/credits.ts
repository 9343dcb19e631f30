import Type, { type Static } from "typebox";
import {
  creditKind,
  CreditsResponse,
  CreditTransferResponse,
  creditTransferType,
} from "../../credits/credit-schema.ts";
import { findCredits } from "../../credits/credits.ts";
import {
  exportCreditLedger,
  listCreditLedger,
  type LedgerFilter,
} from "../../credits/credit-ledger.ts";
import { knownId } from "../../lib/ids.ts";
import { closed, id, pageOf, pageQuery } from "../../lib/schemas.ts";
import { searches } from "../../lib/database/searches.ts";
import { route } from "../route.ts";
import { sendExport } from "./shared/send-csv.ts";
import { readTimeRange, timeRangeQuery } from "./shared/time-range.ts";

const ledgerQuery = {
  kind: Type.Optional(creditKind),
  type: Type.Optional(creditTransferType),
  reservation_id: Type.Optional(id("Only the transfers of this reservation")),
  ...timeRangeQuery,
};

type LedgerQuery = {
  readonly [Key in keyof typeof ledgerQuery]?: Static<(typeof ledgerQuery)[Key]>;
};

function readLedgerFilter(query: LedgerQuery, timeZone: string): LedgerFilter {
  const { kind, type, reservation_id } = query;
  return {
    kind,
    type,
    ...readTimeRange(query, timeZone),
    reservation_id: reservation_id === undefined ? undefined : knownId(reservation_id),
  };
}

export const creditRoutes = [
  route({
    method: "GET",
    url: "/api/v1/credits",
    id: "readCredits",
    summary: "Read the available and reserved credit",
    tag: "Credits",
    access: { anyOf: ["credits.read"] },
    success: { 200: CreditsResponse },
    // Sums every transfer of the open reservations.
    handle: ({ app, caller }) =>
      searches.use(caller.account.id, () => findCredits(app.db.query, caller.account.id)),
  }),
  route({
    method: "GET",
    url: "/api/v1/credits/ledger",
    id: "listCreditLedger",
    from_replica: true,
    summary: "Read the ledger, newest first",
    tag: "Credits",
    access: { anyOf: ["credits.read"] },
    query: closed({ ...ledgerQuery, ...pageQuery }),
    success: { 200: pageOf(CreditTransferResponse) },
    handle: ({ app, caller, query }) => {
      const filter = readLedgerFilter(query, caller.account.time_zone);
      return listCreditLedger(app.db.query, caller.account.id, filter, query);
    },
  }),
  route({
    method: "GET",
    url: "/api/v1/credits/ledger/export",
    id: "exportCreditLedger",
    from_replica: true,
    summary: "Export the ledger to CSV, newest first",
    tag: "Credits",
    access: { anyOf: ["credits.read"] },
    query: closed(ledgerQuery),
    success: { 200: { contentType: "text/csv" } },
    handle: async (context) => {
      const { app, caller, query } = context;
      const filter = readLedgerFilter(query, caller.account.time_zone);
      const chunks = exportCreditLedger(app, caller.account.id, filter);
      return sendExport(context, { action: "credit_ledger.exported", file: "ledger.csv" }, chunks);
    },
  }),
];
