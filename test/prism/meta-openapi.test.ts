// The WhatsApp driver's requests, and the provider stub's answers, held against Meta's own OpenAPI.
// That document is fetched for trying and is no part of this repository (CONTRIBUTING.md).
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import {
  openMetaDriver,
  type MetaDriver,
} from "../../server/drivers/chat/meta/open-meta-driver.ts";
import type { OutgoingMessage, TemplateDraft } from "../../server/drivers/chat/driver.ts";
import { send } from "../support/api.ts";
import { message_kinds } from "../support/chat-driver-contract.ts";
import { stub_number } from "../support/provider-stub/settings.ts";
import {
  startProviderStub,
  type ProviderStub,
} from "../support/provider-stub/start-provider-stub.ts";
import { startValidatingProxy, type ValidatingProxy } from "./validating-proxy.ts";
import { mendMetaDocument, meta_document_is_here } from "./meta-document.ts";
import { startPrism, type PrismProcess } from "./prism-process.ts";

const draft: TemplateDraft = {
  name: "judged",
  language: "en_US",
  category: "MARKETING",
  parameter_format: "NAMED",
  components: [
    { type: "HEADER", format: "IMAGE", example: { header_handle: ["4::aW1hZ2UvanBn"] } },
    {
      type: "BODY",
      text: "Hello {{first_name}}",
      example: { body_text_named_params: [{ param_name: "first_name", example: "Zoë" }] },
    },
    { type: "FOOTER", text: "Bye" },
    {
      type: "BUTTONS",
      buttons: [
        { type: "QUICK_REPLY", text: "Stop" },
        { type: "URL", text: "Shop", url: "https://example.com/{{1}}", example: ["summer"] },
        { type: "COPY_CODE", example: "25OFF" },
      ],
    },
  ],
};

if (meta_document_is_here) suite("Meta's OpenAPI as the judge of the driver", judge);
else {
  const name = "Meta's OpenAPI is not at hand: the driver's requests were not judged by it";
  test(name, (t) => t.diagnostic(name));
}

function judge(): void {
  let stub: ProviderStub;
  let document: Awaited<ReturnType<typeof mendMetaDocument>>;
  let prism: PrismProcess;
  let relay: ValidatingProxy;
  let driver: MetaDriver;
  before(async () => {
    document = await mendMetaDocument();
    stub = await startProviderStub();
    prism = await startPrism(document.path, stub.url);
    relay = await startValidatingProxy(prism.url);
    const api_url = `${relay.url}/v23.0`;
    const { access_token, app_secret } = stub.settings();
    driver = openMetaDriver({ api_url, access_token, app_secret, verify_token: "verify" });
  });
  after(async () => {
    await driver.close();
    await relay.close();
    await prism.stop();
    await stub.close();
    await document.remove();
  });

  const takes = (name: string, requests: number, call: () => Promise<unknown>) => {
    test(`Meta's OpenAPI takes ${name}`, async () => {
      await call();
      assert.deepEqual(relay.take(), { passed: requests, found: [] });
    });
  };
  const sends = (message: OutgoingMessage, route: "standard" | "marketing" = "standard") =>
    driver.send(stub_number, { message_id: "judged", to: "919812345678", message, route });

  for (const [kind, message] of Object.entries(message_kinds)) takes(kind, 1, () => sends(message));
  for (const [kind, message] of Object.entries(message_kinds)) {
    if (message.kind === "template")
      takes(`${kind}, on the marketing route`, 1, () => sends(message, "marketing"));
  }
  takes("the look-up of a number and its account", 2, () => driver.findNumber(stub_number));
  takes("the upload of a file", 1, () =>
    driver.uploadMedia(stub_number, {
      bytes: Buffer.from([0, 255, 13, 10]),
      mime_type: "image/png",
      name: "x.png",
    }),
  );
  const account = stub_number.business_account_id;
  takes("a new template", 1, () => driver.createTemplate(account, draft));
  takes("the list of templates", 1, () => driver.listTemplates(account));
  takes("a template's deletion", 1, () => driver.deleteTemplate(account, draft.name));

  test("the judge sees what is wrong with a request", async () => {
    const path = `/v23.0/${stub_number.phone_number_id}/messages`;
    const right = {
      messaging_product: "whatsapp",
      recipient_type: "individual",
      to: "919812345678",
      type: "template",
      template: { name: "x", language: { policy: "deterministic", code: "en" } },
    };
    const withComponent = (component: object) => ({
      ...right,
      template: { ...right.template, components: [component] },
    });
    const judged = async (json: unknown) => {
      const headers = { "user-agent": "trunkline/0.0.0" };
      await send(relay.url, "POST", path, { token: stub.settings().access_token, json, headers });
      return relay.take().found.length;
    };
    assert.equal(await judged(right), 0);
    const wrong = [
      { ...right, recipient_type: undefined },
      { ...right, to: 919_812_345_678 },
      { ...right, template: { name: "x" } },
      withComponent({ type: "body", parameters: [{ type: "text" }] }),
      withComponent({ type: "header", parameters: [{ type: "image", image: {} }] }),
      withComponent({ type: "button", sub_type: "url", index: 0, parameters: [] }),
    ];
    for (const json of wrong) assert.ok((await judged(json)) > 0, JSON.stringify(json));
  });
}
