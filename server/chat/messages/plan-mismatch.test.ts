import assert from "node:assert/strict";
import { test } from "node:test";
import type { TemplateComponent } from "../../drivers/chat/driver.ts";
import { makeTemplatePlan, type PlannedTemplate } from "./build-message-plan.ts";
import { planMismatch } from "./plan-mismatch.ts";
import { unsupportedPart } from "./unsupported-part.ts";

const text = (content: string): TemplateComponent => ({ type: "BODY", text: content });
const header = (format: string, more: object = {}): TemplateComponent => ({
  type: "HEADER",
  format,
  ...more,
});
const buttons = (...list: object[]): TemplateComponent => ({ type: "BUTTONS", buttons: list });

function templateOf(
  components: readonly TemplateComponent[],
  more: Partial<PlannedTemplate> = {},
): PlannedTemplate {
  return {
    name: "offer",
    language: "en",
    category: "MARKETING",
    parameter_format: "POSITIONAL",
    components,
    variable_defaults: {},
    header_media: null,
    ...more,
  };
}

test("names the first part of a template that campaigns cannot fill", () => {
  const body = text("Hello {{1}}");
  const filled = [
    [body],
    [header("TEXT", { text: "Hi {{1}}" }), body, { type: "FOOTER", text: "Bye" }],
    [{ type: "HEADER", text: "Hi" }, body],
    ...["IMAGE", "VIDEO", "DOCUMENT"].map((format) => [header(format), body]),
    ...["QUICK_REPLY", "URL", "PHONE_NUMBER", "VOICE_CALL", "COPY_CODE", "FLOW"].map((type) => [
      body,
      buttons({ type }),
    ]),
  ];
  for (const components of filled) assert.equal(unsupportedPart(components), null);
  const unfilled: readonly [string, TemplateComponent][] = [
    ["a LOCATION header", header("LOCATION")],
    ["a PRODUCT header", header("PRODUCT")],
    ["an MPM button", buttons({ type: "QUICK_REPLY" }, { type: "MPM" })],
    ["an SPM button", buttons({ type: "SPM" })],
    ["a CATALOG button", buttons({ type: "CATALOG" })],
    ["an ORDER_DETAILS button", buttons({ type: "ORDER_DETAILS" })],
    ["a CAROUSEL", { type: "CAROUSEL", cards: [] }],
    ["a LIMITED_TIME_OFFER", { type: "LIMITED_TIME_OFFER", limited_time_offer: {} }],
    ["a CALL_PERMISSION_REQUEST", { type: "CALL_PERMISSION_REQUEST" }],
  ];
  for (const [part, component] of unfilled) assert.equal(unsupportedPart([body, component]), part);
});

test("a template fits a plan while its messages take the same values", () => {
  const media = { link: "https://cdn.example/a.png" };
  const fits: readonly [PlannedTemplate, PlannedTemplate][] = [
    [templateOf([text("Hello {{1}}")]), templateOf([text("Good day {{1}}, see you")])],
    [
      templateOf([text("Hello {{1}}")]),
      templateOf([text("Hello {{1}}")], { variable_defaults: { "1": "x" }, category: "UTILITY" }),
    ],
    [
      templateOf([header("IMAGE"), text("Hi")], { header_media: media }),
      templateOf([header("IMAGE"), text("Hi"), { type: "FOOTER", text: "Bye" }]),
    ],
    [
      templateOf([text("{{first}} {{last}}")], { parameter_format: "NAMED" }),
      templateOf([text("{{last}}, {{first}}")], { parameter_format: "NAMED" }),
    ],
    [
      templateOf([header("TEXT", { text: "Hi {{1}}" }), text("Bye")]),
      templateOf([header("TEXT", { text: "Dear {{1}}" }), text("Goodbye")]),
    ],
    [
      templateOf([text("Hi"), buttons({ type: "PHONE_NUMBER" })]),
      templateOf([text("Hi"), buttons({ type: "URL", url: "https://shop.example" })]),
    ],
  ];
  for (const [before, now] of fits) assert.equal(planMismatch(makeTemplatePlan(before), now), null);
});

test("a changed template is described by the values that it takes now and before", () => {
  const media = { link: "https://cdn.example/a.png" };
  const url = { type: "URL", url: "https://shop.example/{{1}}" };
  const changed: readonly [string, PlannedTemplate, PlannedTemplate][] = [
    [
      "the values of the template's body changed from {{1}} to {{1}}, {{2}}",
      templateOf([text("Hello {{1}}")]),
      templateOf([text("Hello {{1}}, order {{2}}")]),
    ],
    [
      "the values of the template's body changed from {{1}} to none",
      templateOf([text("Hello {{1}}")]),
      templateOf([text("Hello")]),
    ],
    [
      "the values of the template's body changed from {{1}} to {{name}}",
      templateOf([text("Hello {{1}}")]),
      templateOf([text("Hello {{name}}")], { parameter_format: "NAMED" }),
    ],
    [
      "the values of the template's header changed from image to video",
      templateOf([header("IMAGE"), text("Hi")], { header_media: media }),
      templateOf([header("VIDEO"), text("Hi")]),
    ],
    [
      "the values of the template's header changed from none to {{1}}",
      templateOf([header("TEXT", { text: "Sale" }), text("Hi")]),
      templateOf([header("TEXT", { text: "Sale {{1}}" }), text("Hi")]),
    ],
    [
      "the values of the template's buttons changed from none to url at 0",
      templateOf([text("Hi")]),
      templateOf([text("Hi"), buttons(url)]),
    ],
    [
      "the template now has a CAROUSEL, which campaigns cannot fill",
      templateOf([text("Hi")]),
      templateOf([text("Hi"), { type: "CAROUSEL" }]),
    ],
  ];
  for (const [reason, before, now] of changed)
    assert.equal(planMismatch(makeTemplatePlan(before), now), reason);
});
