import { openOutgoingHttp } from "../../server/lib/outgoing/open-outgoing-http.ts";

/** Outgoing HTTP that allows receivers on this machine. */
export const localOutgoing = openOutgoingHttp(["127.0.0.1"]);
