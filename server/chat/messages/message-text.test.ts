// The console shows the text that a phone shows: what WhatsApp makes of the request that the driver sends.
import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom, type Random } from "../../../test/fuzz/random.ts";
import { messageBody } from "../../drivers/chat/meta/message-body.ts";
import { makeTemplatePlan, type PlannedTemplate } from "./build-message-plan.ts";
import { messageText } from "./message-text.ts";
import { renderMessage } from "./render-message.ts";

const templates = 1_000;
const words = [
  "Ada",
  "नमस्ते",
  "مرحبا",
  "👩🏽‍🚀",
  "$& $1",
  "{{1}}",
  "a\nb\tc",
  "x     y",
  "{{",
  "0",
  "'\"<b>",
];
const names = ["name", "order_id", "constructor", "total"];

/** A template with a header, a body and a footer, whose placeholders repeat and stand in any order. */
function generateTemplate(random: Random): PlannedTemplate {
  const named = random.oneIn(2);
  const keys = named ? names : Array.from({ length: 12 }, (_, i) => String(i + 1));
  const used = keys.slice(0, random.below(keys.length + 1));
  const placeholder = (key: string) => (random.oneIn(3) ? `{{ ${key} }}` : `{{${key}}}`);
  const parts = Array.from({ length: used.length * 2 + random.below(3) }, () =>
    used.length > 0 && random.oneIn(2)
      ? placeholder(random.pick(used))
      : random.pick(words.slice(0, 4)),
  );
  // Numbers have no gaps.
  const body = [...parts, ...used.map(placeholder)].join(" ");
  const title = named ? names[0]! : "1";
  const header = random.pick(["", "Hello", `For {{${title}}}!`]);
  return {
    name: "generated",
    language: "en",
    category: "UTILITY",
    parameter_format: named ? "NAMED" : "POSITIONAL",
    components: [
      ...(header === "" ? [] : [{ type: "HEADER", format: "TEXT", text: header }]),
      { type: "BODY", text: body },
      ...(random.oneIn(2) ? [{ type: "FOOTER", text: "Reply STOP to opt out" }] : []),
    ],
    variable_defaults: Object.fromEntries(
      [...keys, "header_1"].flatMap((key) => (random.oneIn(2) ? [[key, random.pick(words)]] : [])),
    ),
    header_media: null,
  };
}

type Parameter = { readonly parameter_name?: string; readonly text: string };
type Request = {
  readonly template: {
    readonly components?: readonly {
      readonly type: string;
      readonly parameters: readonly Parameter[];
    }[];
  };
};

/** The texts of a phone: WhatsApp counts parameters from 1, or finds them by name. */
function shownOnPhone(template: PlannedTemplate, request: Request) {
  const show = (type: string) => {
    const component = template.components.find((one) => one.type === type);
    if (component === undefined) return null;
    const parameters = request.template.components?.find(
      (one) => one.type === type.toLowerCase(),
    )?.parameters;
    return String(component["text"]).replaceAll(/\{\{\s*(\w+)\s*\}\}/g, (_, key: string) => {
      const found = parameters?.find(
        ({ parameter_name }, i) => (parameter_name ?? String(i + 1)) === key,
      );
      assert.ok(found, `${type} of ${JSON.stringify(template)} has no value for ${key}`);
      return found.text;
    });
  };
  return { header: show("HEADER"), body: show("BODY"), footer: show("FOOTER") };
}

test("the text of 1,000 generated templates is what WhatsApp shows of the request that is sent", () => {
  const random = seededRandom(1_124);
  let compared = 0;
  while (compared < templates) {
    const template = generateTemplate(random);
    const variables = Object.fromEntries(
      [...names, "header_1", ...Array.from({ length: 12 }, (_, i) => String(i + 1))].flatMap(
        (key) => (random.oneIn(3) ? [] : [[key, random.pick(words)]]),
      ),
    );
    const rendered = renderMessage(makeTemplatePlan(template), variables, "m-1");
    if ("missing" in rendered) continue;
    const { message } = rendered;
    assert.ok(message.kind === "template");
    const sent = messageBody({ message_id: "m-1", to: "919876543210", message, route: "standard" });
    assert.deepEqual(
      messageText(template, message),
      shownOnPhone(template, JSON.parse(sent) as Request),
    );
    compared += 1;
  }
});
