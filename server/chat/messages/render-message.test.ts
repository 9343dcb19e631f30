import assert from "node:assert/strict";
import { test } from "node:test";
import type { TemplateComponent } from "../../drivers/chat/driver.ts";
import type { MessagePlan } from "./message-plan.ts";
import { makeOpeningPlan, makeTemplatePlan, type PlannedTemplate } from "./build-message-plan.ts";
import { renderMessage } from "./render-message.ts";

function planOf(components: readonly TemplateComponent[], more: Partial<PlannedTemplate> = {}) {
  const plan = makeTemplatePlan({
    name: "order_update",
    language: "en_US",
    category: "UTILITY",
    parameter_format: "POSITIONAL",
    components,
    variable_defaults: {},
    header_media: null,
    ...more,
  });
  // As stored with a campaign.
  return JSON.parse(JSON.stringify(plan)) as typeof plan;
}

const body = (text: string): TemplateComponent => ({ type: "BODY", text });
const header = (text: string): TemplateComponent => ({ type: "HEADER", format: "TEXT", text });
const buttons = (...all: object[]): TemplateComponent => ({ type: "BUTTONS", buttons: all });
const values = (...texts: string[]) => texts.map((text) => ({ text }));

function rendered(...[plan, variables = {}]: [MessagePlan, Record<string, string>?]) {
  const answer = renderMessage(plan, variables, "m-1");
  assert.ok("message" in answer, `missing: ${JSON.stringify(answer)}`);
  return answer.message;
}

function missing(...[plan, variables = {}]: [MessagePlan, Record<string, string>?]) {
  const answer = renderMessage(plan, variables, "m-1");
  assert.ok("missing" in answer, JSON.stringify(answer));
  return answer.missing;
}

test("numbered placeholders take the variables with their numbers, in numeric order", () => {
  const plan = planOf([
    body("{{2}} and {{10}} and {{1}}, {{2}} again"),
    { type: "FOOTER", text: "Bye" },
  ]);
  assert.deepEqual(rendered(plan, { 1: "one", 2: "two", 10: "ten", 3: "ignored" }), {
    kind: "template",
    name: "order_update",
    language: "en_US",
    header: null,
    body: values("one", "two", "ten"),
    buttons: [],
  });
  assert.deepEqual(missing(plan, { 2: "two" }), ["1", "10"]);
});

test("named placeholders are sent with their names, each once", () => {
  const named = { parameter_format: "NAMED" } as const;
  const plan = planOf(
    [header("For {{name}}"), body("{{order_id}} of {{name}}, {{order_id}}")],
    named,
  );
  const message = rendered(plan, { name: "Ada", order_id: "7" });
  assert.ok(message.kind === "template");
  assert.deepEqual(message.header, { text: { name: "name", text: "Ada" } });
  assert.deepEqual(message.body, [
    { name: "order_id", text: "7" },
    { name: "name", text: "Ada" },
  ]);
  assert.deepEqual(missing(plan, {}), ["name", "order_id"]);
});

test("a numbered header has its own key and falls back to the body's key when the body has none", () => {
  const both = planOf([header("Dear {{1}}"), body("Order {{1}}")]);
  assert.deepEqual(missing(both, { 1: "7" }), ["header_1"]);
  const message = rendered(both, { 1: "7", header_1: "Ada" });
  assert.ok(message.kind === "template");
  assert.deepEqual([message.header, message.body], [{ text: { text: "Ada" } }, values("7")]);
  const alone = rendered(planOf([header("Dear {{1}}"), body("Thank you")]), { 1: "Ada" });
  assert.ok(alone.kind === "template");
  assert.deepEqual(alone.header, { text: { text: "Ada" } });
});

test("a missing or blank value falls back to the template's default, without which the key is reported", () => {
  const components = [body("Hello {{1}}")];
  const plan = planOf(components, { variable_defaults: { 1: "there" } });
  assert.ok("message" in renderMessage(plan, null, "m-1"));
  for (const variables of [{}, { 1: "" }, { 1: " \n" }]) {
    const message = rendered(plan, variables);
    assert.ok(message.kind === "template");
    assert.deepEqual(message.body, values("there"));
    assert.deepEqual(missing(planOf(components), variables), ["1"]);
    assert.deepEqual(missing(planOf(components, { variable_defaults: { 1: " " } }), variables), [
      "1",
    ]);
  }
});

test("inherited object properties are not values", () => {
  const plan = planOf([body("{{constructor}} {{__proto__}}")], { parameter_format: "NAMED" });
  assert.deepEqual(missing(plan, {}), ["constructor", "__proto__"]);
});

test("line breaks, tabs and long runs of spaces in a template's values become one space", () => {
  const plan = planOf([body("{{1}}")]);
  const sent = (value: string) => {
    const message = rendered(plan, { 1: value });
    assert.ok(message.kind === "template");
    return message.body[0]!.text;
  };
  assert.equal(sent("a\nb\r\n\r\nc\td \n e"), "a b c d e");
  assert.equal(sent("a     b"), "a b");
  assert.equal(sent("a    b  c"), "a    b  c");
  assert.equal(sent("\na\n"), "a");
});

test("buttons that take a value are identified by their index among all buttons", () => {
  const plan = planOf([
    body("Hello"),
    buttons(
      { type: "PHONE_NUMBER", text: "Call", phone_number: "+919876543210" },
      { type: "URL", text: "Fixed", url: "https://a.example" },
      { type: "URL", text: "Track", url: "https://a.example/{{1}}" },
      { type: "QUICK_REPLY", text: "Yes" },
      { type: "QUICK_REPLY", text: "No" },
      { type: "COPY_CODE", example: "SAVE" },
      { type: "FLOW", text: "Book" },
    ),
  ]);
  assert.deepEqual(missing(plan, {}), ["button_2", "button_5"]);
  const message = rendered(plan, { button_2: "x/7", button_4: "never", button_5: "TEN" });
  assert.ok(message.kind === "template");
  assert.deepEqual(message.buttons, [
    { type: "url", index: 2, suffix: "x/7" },
    { type: "quick_reply", index: 3, payload: "Yes" },
    { type: "quick_reply", index: 4, payload: "never" },
    { type: "copy_code", index: 5, code: "TEN" },
    { type: "flow", index: 6, flow_token: "m-1" },
  ]);
});

test("a media header carries the template's file", () => {
  const components = [{ type: "HEADER", format: "DOCUMENT" } as const, body("Hello")];
  const header_media = { link: "https://a.example/a.pdf", filename: "a.pdf" };
  const message = rendered(planOf(components, { header_media }));
  assert.ok(message.kind === "template");
  assert.deepEqual(message.header, { media: { kind: "document", ...header_media } });
});

test("an opening's variables are inserted unchanged, and a flow gets the message ID as its token", () => {
  const plan = makeOpeningPlan({
    type: "interactive",
    header: "{{city}}",
    body: "Hello {{ name }},\n{{1}}!",
    footer: "Bye {{1}}",
    flow: { flow_id: "77", cta: "Book" },
    variable_defaults: { name: "you" },
  });
  assert.deepEqual(rendered(plan, { city: "Pune", 1: "a\nb" }), {
    kind: "interactive",
    header: "Pune",
    body: "Hello you,\na\nb!",
    footer: "Bye a\nb",
    action: { type: "flow", flow_id: "77", cta: "Book", flow_token: "m-1" },
  });
  assert.deepEqual(missing(plan, { name: "Ada" }), ["city", "1"]);
});

test("an opening's buttons are identified by their titles unless they have IDs", () => {
  const opening = { type: "interactive", body: "Well?" } as const;
  const plan = makeOpeningPlan({
    ...opening,
    buttons: [{ title: "Yes" }, { id: "n", title: "No" }],
  });
  const message = rendered(plan);
  assert.ok(message.kind === "interactive");
  assert.deepEqual(message.action, {
    type: "buttons",
    buttons: [
      { id: "Yes", title: "Yes" },
      { id: "n", title: "No" },
    ],
  });
  assert.deepEqual(rendered(makeOpeningPlan(opening)), {
    kind: "interactive",
    header: null,
    body: "Well?",
    footer: null,
    action: { type: "none" },
  });
});
