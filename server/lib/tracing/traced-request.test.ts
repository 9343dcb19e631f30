import assert from "node:assert/strict";
import { test } from "node:test";
import { pathTemplate } from "./traced-request.ts";

test("the path of a span contains words only, no ID, number or query", () => {
  const paths = {
    "/106540352242922/messages": "/{id}/messages",
    "/919876512345?fields=id": "/{id}",
    "/channels/trunkline-a1-c2-l1/play/p%2B9198": "/channels/{id}/play/{id}",
    "/channels/externalMedia?app=x": "/channels/externalMedia",
    "/bridges/call-7/addChannel": "/bridges/{id}/addChannel",
  };
  for (const [path, template] of Object.entries(paths)) assert.equal(pathTemplate(path), template);
});
