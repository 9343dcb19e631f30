// Validates the WhatsApp driver's requests and the provider stub's responses against Meta's OpenAPI
// document, which is not part of this repository (CONTRIBUTING.md).
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
import { correctMetaDocument, has_meta_document } from "./meta-document.ts";
import { startPrism, type PrismProcess } from "./prism-process.ts";

const draft: TemplateDraft = {
  name: "validated",
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

if (has_meta_document) suite("the driver's requests against Meta's OpenAPI", validateDriver);
else {
  const name = "Meta's OpenAPI is missing: the driver's requests were not validated";
  test(name, (t) => t.diagnostic(name));
}

function validateDriver(): void {
  let stub: ProviderStub;
  let document: Awaited<ReturnType<typeof correctMetaDocument>>;
  let prism: PrismProcess;
  let proxy: ValidatingProxy;
  let driver: MetaDriver;
  before(async () => {
    document = await correctMetaDocument();
    stub = await startProviderStub();
    prism = await startPrism(document.path, stub.url);
    proxy = await startValidatingProxy(prism.url);
    const api_url = `${proxy.url}/v23.0`;
    const { access_token, app_secret } = stub.settings();
    driver = openMetaDriver({ api_url, access_token, app_secret, verify_token: "verify" });
  });
  after(async () => {
    await driver.close();
    await proxy.close();
    await prism.stop();
    await stub.close();
    await document.remove();
  });

  const accepts = (name: string, requests: number, call: () => Promise<unknown>) => {
    test(`Meta's OpenAPI accepts ${name}`, async () => {
      await call();
      assert.deepEqual(proxy.take(), { passed: requests, found: [] });
    });
  };
  const sends = (message: OutgoingMessage, route: "standard" | "marketing" = "standard") =>
    driver.send(stub_number, { message_id: "validated", to: "919812345678", message, route });

  for (const [kind, message] of Object.entries(message_kinds))
    accepts(kind, 1, () => sends(message));
  for (const [kind, message] of Object.entries(message_kinds)) {
    if (message.kind === "template")
      accepts(`${kind}, on the marketing route`, 1, () => sends(message, "marketing"));
  }
  accepts("the request of a number and its account", 2, () => driver.findNumber(stub_number));
  accepts("a file upload", 1, () =>
    driver.uploadMedia(stub_number, {
      bytes: Buffer.from([0, 255, 13, 10]),
      mime_type: "image/png",
      name: "x.png",
    }),
  );
  const account = stub_number.business_account_id;
  accepts("the creation of a template", 1, () => driver.createTemplate(account, draft));
  accepts("the list of templates", 1, () => driver.listTemplates(account));
  accepts("the deletion of a template", 1, () => driver.deleteTemplate(account, draft.name));

  test("the validator finds violations in requests", async () => {
    const path = `/v23.0/${stub_number.phone_number_id}/messages`;
    const valid = {
      messaging_product: "whatsapp",
      recipient_type: "individual",
      to: "919812345678",
      type: "template",
      template: { name: "x", language: { policy: "deterministic", code: "en" } },
    };
    const withComponent = (component: object) => ({
      ...valid,
      template: { ...valid.template, components: [component] },
    });
    const countViolations = async (json: unknown) => {
      const headers = { "user-agent": "trunkline/0.0.0" };
      await send(proxy.url, "POST", path, { token: stub.settings().access_token, json, headers });
      return proxy.take().found.length;
    };
    assert.equal(await countViolations(valid), 0);
    const invalid = [
      { ...valid, recipient_type: undefined },
      { ...valid, to: 919_812_345_678 },
      { ...valid, template: { name: "x" } },
      withComponent({ type: "body", parameters: [{ type: "text" }] }),
      withComponent({ type: "header", parameters: [{ type: "image", image: {} }] }),
      withComponent({ type: "button", sub_type: "url", index: 0, parameters: [] }),
    ];
    for (const json of invalid) assert.ok((await countViolations(json)) > 0, JSON.stringify(json));
  });
}
