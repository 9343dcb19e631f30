import { openOutgoingHttp } from "../../server/lib/outgoing/open-outgoing-http.ts";

/** Requests to receivers on this machine: for an App that is put together by hand. */
export const localOutgoing = openOutgoingHttp(["127.0.0.1"]);
