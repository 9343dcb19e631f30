import assert from "node:assert/strict";
import { test } from "node:test";
import { validateNewTemplate } from "./validate-template.ts";

const body = { type: "BODY", text: "Hello" };
const template = (components: unknown, more: object = {}) => ({
  name: "greeting",
  language: "en",
  category: "UTILITY",
  components,
  ...more,
});
const fieldsOf = (value: unknown) => validateNewTemplate(value).map(({ field }) => field);
const withBody = (text: string, example?: object) => [
  { type: "BODY", text, ...(example ? { example } : {}) },
];
const withButtons = (...buttons: unknown[]) => [body, { type: "BUTTONS", buttons }];
const named = { parameter_format: "NAMED" };

test("accepts templates that providers accept", () => {
  const good: [unknown, object?][] = [
    [[body]],
    [
      [
        { type: "FOOTER", text: "x".repeat(60) },
        { type: "BODY", text: "🙂".repeat(1_024) },
      ],
    ],
    [withBody("{{2}} or {{1}} or {{2}}", { body_text: [["a", "b"]] })],
    [[{ type: "HEADER", format: "TEXT", text: "{{1}}", example: { header_text: ["a"] } }, body]],
    [[{ type: "HEADER", format: "IMAGE", example: { header_handle: ["4::a"] } }, body]],
    [[{ type: "HEADER", format: "VIDEO" }, body], { header_media: { id: "7" } }],
    [
      [{ type: "HEADER", format: "DOCUMENT" }, body],
      { header_media: { id: null, link: "HTTPS://a.example/a.pdf", filename: "a.pdf" } },
    ],
    [
      withBody("{{name}} of {{_x1}}", {
        body_text_named_params: [
          { param_name: "_x1", example: "a" },
          { param_name: "name", example: "b" },
        ],
      }),
      { ...named, variable_defaults: { name: "you" } },
    ],
    [
      withButtons(
        {
          type: "URL",
          text: "Track",
          url: "https://a.example/{{1}}",
          example: ["https://a.example/1"],
        },
        { type: "URL", text: "Home", url: "https://a.example" },
        { type: "PHONE_NUMBER", text: "Call", phone_number: "+919876543210" },
        { type: "COPY_CODE", example: "SAVE10" },
        { type: "FLOW", text: "Book", flow_id: "1", flow_action: "navigate", navigate_screen: "A" },
        ...Array.from({ length: 5 }, (_, i) => ({ type: "QUICK_REPLY", text: `${i}` })),
      ),
      { variable_defaults: { button_0: "x", button_3: "y", button_4: "z", button_5: "0" } },
    ],
  ];
  for (const [components, more] of good) {
    assert.deepEqual(validateNewTemplate(template(components, more)), []);
  }
});

const violations: [string, unknown, string[], object?][] = [
  ["no body", [{ type: "FOOTER", text: "x" }], ["components"]],
  ["two bodies", [body, body], ["components.1.type"]],
  ["a body without text", [{ type: "BODY" }], ["components.0.text"]],
  ["a blank body", withBody(" "), ["components.0.text"]],
  ["a long body", withBody("x".repeat(1_025)), ["components.0.text"]],
  ["a body with a format", [{ ...body, format: "TEXT" }], ["components.0.format"]],
  ["a footer with a placeholder", [body, { type: "FOOTER", text: "{{1}}" }], ["components.1.text"]],
  ["a long footer", [body, { type: "FOOTER", text: "x".repeat(61) }], ["components.1.text"]],
  ["a header without a format", [{ type: "HEADER", text: "x" }, body], ["components.0.format"]],
  ["a text header without text", [{ type: "HEADER", format: "TEXT" }, body], ["components.0.text"]],
  [
    "a long header",
    [{ type: "HEADER", format: "TEXT", text: "x".repeat(61) }, body],
    ["components.0.text"],
  ],
  [
    "a header with two placeholders",
    [{ type: "HEADER", format: "TEXT", text: "{{1}} {{2}}" }, body],
    ["components.0.text"],
  ],
  [
    "a header without an example",
    [{ type: "HEADER", format: "TEXT", text: "{{1}}" }, body],
    ["components.0.example.header_text"],
  ],
  [
    "an image header with text",
    [{ type: "HEADER", format: "IMAGE", text: "x" }, body],
    ["components.0.text"],
  ],
  ["a gap in the numbers", withBody("{{1}} {{3}}"), ["components.0.text"]],
  ["numbers from 0", withBody("{{0}}"), ["components.0.text"]],
  ["numbers that do not begin with 1", withBody("{{2}}"), ["components.0.text"]],
  ["a name among numbers", withBody("{{1}} {{name}}"), ["components.0.text"]],
  ["a space in a placeholder", withBody("{{ 1 }}"), ["components.0.text"]],
  ["an open brace", withBody("{{1"), ["components.0.text"]],
  ["a brace too many", withBody("1}}"), ["components.0.text"]],
  ["a number among names", withBody("{{1}}"), ["components.0.text"], named],
  ["a capital in a name", withBody("{{Name}}"), ["components.0.text"], named],
  ["no example", withBody("{{1}}"), ["components.0.example.body_text"]],
  [
    "few examples",
    withBody("{{1}} {{2}}", { body_text: [["a"]] }),
    ["components.0.example.body_text"],
  ],
  [
    "an example of another name",
    withBody("{{a}}", { body_text_named_params: [{ param_name: "b", example: "x" }] }),
    ["components.0.example.body_text_named_params"],
    named,
  ],
  ["buttons without buttons", [body, { type: "BUTTONS" }], ["components.1.buttons"]],
  [
    "buttons that lack what is theirs",
    withButtons({ type: "URL" }, { type: "PHONE_NUMBER" }, { type: "COPY_CODE" }, { type: "FLOW" }),
    [
      "components.1.buttons.0.text",
      "components.1.buttons.0.url",
      "components.1.buttons.1.text",
      "components.1.buttons.1.phone_number",
      "components.1.buttons.2.example",
      "components.1.buttons.3.text",
      "components.1.buttons.3.flow_id",
    ],
  ],
  [
    "a quick reply with an address",
    withButtons({ type: "QUICK_REPLY", text: "x", url: "https://a.example" }),
    ["components.1.buttons.0.url"],
  ],
  [
    "a button's long text",
    withButtons({ type: "QUICK_REPLY", text: "x".repeat(26) }),
    ["components.1.buttons.0.text"],
  ],
  [
    "a placeholder in a button's text",
    withButtons({ type: "QUICK_REPLY", text: "{{1}}" }),
    ["components.1.buttons.0.text"],
  ],
  [
    "three addresses",
    withButtons(...[1, 2, 3].map((i) => ({ type: "URL", text: `${i}`, url: "https://a.example" }))),
    ["components.1.buttons.2.type"],
  ],
  ...["a.example", "ftp://a.example", "https://", "https://a.example/{{1}}/x", "https://{{2}}"].map(
    (url): [string, unknown, string[]] => [
      `the address ${url}`,
      withButtons({ type: "URL", text: "x", url, example: "x" }),
      ["components.1.buttons.0.url"],
    ],
  ),
  [
    "an address with a placeholder and no example",
    withButtons({ type: "URL", text: "x", url: "https://a.example/{{1}}" }),
    ["components.1.buttons.0.example"],
  ],
  [
    "a long code",
    withButtons({ type: "COPY_CODE", example: "x".repeat(16) }),
    ["components.1.buttons.0.example"],
  ],
  [
    "a default of no placeholder",
    [body],
    ["variable_defaults.1"],
    { variable_defaults: { "1": "x" } },
  ],
  ["media without a media header", [body], ["header_media"], { header_media: { id: "1" } }],
  ...[{}, { id: "1", link: "https://a.example" }].map(
    (header_media): [string, unknown, string[], object] => [
      `media of ${Object.keys(header_media).length} places`,
      [{ type: "HEADER", format: "IMAGE" }, body],
      ["header_media"],
      { header_media },
    ],
  ),
  [
    "media without encryption",
    [{ type: "HEADER", format: "IMAGE" }, body],
    ["header_media.link"],
    { header_media: { link: "http://a.example/a.png" } },
  ],
  [
    "a named image",
    [{ type: "HEADER", format: "IMAGE" }, body],
    ["header_media.filename"],
    { header_media: { id: "1", filename: "a.png" } },
  ],
];

for (const [what, components, fields, more] of violations) {
  test(`rejects a template with ${what} on ${fields[0]}`, () => {
    assert.deepEqual(fieldsOf(template(components, more)), fields);
  });
}

test("a body of any shape is validated without failing", () => {
  const odd: unknown[] = [null, 5, "x", [], {}, [[]], true, { type: "BODY", text: 5 }];
  for (const one of odd) {
    validateNewTemplate(one);
    for (const two of odd) {
      validateNewTemplate(template(one, { variable_defaults: two, header_media: two }));
      validateNewTemplate(template([one, two, body], { parameter_format: one }));
      validateNewTemplate(template([{ type: "BODY", text: "{{1}}", example: one }]));
      validateNewTemplate(template([{ type: "BODY", text: "{{1}}", example: { body_text: one } }]));
      validateNewTemplate(template([{ type: "HEADER", format: one, text: two }, body]));
      validateNewTemplate(template([body, { type: "BUTTONS", buttons: one }]));
      validateNewTemplate(template([body, { type: "BUTTONS", buttons: [one, two] }]));
      for (const type of ["URL", "COPY_CODE", "PHONE_NUMBER", "FLOW"]) {
        const button = { type, text: one, url: two, phone_number: one, example: two, flow_id: one };
        validateNewTemplate(template(withButtons(button)));
      }
    }
  }
});

test(
  "a body of 300,000 components or default values is validated at once",
  { timeout: 30_000 },
  () => {
    const many = Array.from({ length: 300_000 }, (_, i) => i);
    const components = many.map((i) => ({ type: `T${i}` }));
    assert.deepEqual(fieldsOf(template([...components, body, body])), ["components.300001.type"]);
    const text = many.slice(0, 100).map((i) => `{{n${i}}}`);
    const example = many.slice(0, 100).map((i) => ({ param_name: `n${i}`, example: "a" }));
    const variable_defaults = Object.fromEntries(many.map((i) => [`d${i}`, "a"]));
    const found = validateNewTemplate(
      template(withBody(text.join(""), { body_text_named_params: example }), {
        ...named,
        variable_defaults,
      }),
    );
    assert.equal(found.length, many.length);
  },
);
