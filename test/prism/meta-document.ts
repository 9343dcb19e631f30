// Meta's OpenAPI document, corrected where it rejects the requests of Meta's own examples, and extended
// to validate what it only refers to.
import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** The downloaded business-messaging-api_v23.0.yaml of facebook/openapi. */
const file =
  process.env["META_OPENAPI"] ??
  join(import.meta.dirname, "../../.cache/meta-openapi/business-messaging-api_v23.0.yaml");

export const has_meta_document = existsSync(file);

/** Each `from` occurs exactly `times` times, so that a new edition of the document is reviewed. */
const corrections: readonly {
  readonly why: string;
  readonly from: string;
  readonly to: string;
  readonly times: number;
}[] = [
  {
    why: "the pattern of a button's index consists of footnote marks and rejects '0'",
    from: "pattern: ^[2-6, 11-14]$",
    to: "pattern: ^[0-9]$",
    times: 2,
  },
  {
    why: "buttons that start a flow or copy a code are missing; Meta documents them elsewhere",
    from: "- quick_reply\n          - url\n          - catalog\n",
    to: "- quick_reply\n          - url\n          - catalog\n          - flow\n          - copy_code\n",
    times: 1,
  },
  {
    why: "the same in the separate description of buttons",
    from: "- quick_reply\n            - url\n            - catalog\n",
    to: "- quick_reply\n            - url\n            - catalog\n            - flow\n            - copy_code\n",
    times: 1,
  },
  {
    why: "the parameters of those buttons",
    from: "          enum:\n          - payload\n          - text\n",
    to: "          enum:\n          - payload\n          - text\n          - action\n          - coupon_code\n",
    times: 1,
  },
  {
    why: "no text message is valid: the branch that adds `text` forbids `to` and all other fields",
    from: "        additionalProperties: false\n        required:\n        - text\n",
    to: "        required:\n        - text\n",
    times: 1,
  },
  {
    why: "no interactive message is valid, for the same reason",
    from: "        additionalProperties: false\n        required:\n        - interactive\n",
    to: "        required:\n        - interactive\n",
    times: 1,
  },
  {
    why: "the field that every status returns is missing on the marketing route",
    from: "        message_activity_sharing:\n          type: boolean\n          description: Optional flag",
    to: "        biz_opaque_callback_data:\n          type: string\n          maxLength: 512\n        message_activity_sharing:\n          type: boolean\n          description: Optional flag",
    times: 1,
  },
  {
    why: "the schemas that the discriminator names are not applied to a template's components",
    from: "          items:\n            $ref: '#/components/schemas/TemplateComponent'\n",
    to: `          items:\n            oneOf:\n${references(12, "HeaderComponent", "BodyComponent", "ButtonComponent")}`,
    times: 1,
  },
  {
    why: "nor to the parameters of header and body",
    from: "            items:\n              $ref: '#/components/schemas/ParameterObject'\n",
    to: `            items:\n              oneOf:\n${references(14, "TextParameter", "ImageParameter", "VideoParameter", "DocumentParameter")}`,
    times: 2,
  },
];

function references(indent: number, ...names: readonly string[]): string {
  return names
    .map((name) => `${" ".repeat(indent)}- $ref: '#/components/schemas/${name}'\n`)
    .join("");
}

/** Writes the corrected document into a new folder; throws if a correction no longer applies. */
export async function correctMetaDocument(): Promise<{
  readonly path: string;
  remove(): Promise<void>;
}> {
  let text = await readFile(file, "utf8");
  for (const { why, from, to, times } of corrections) {
    const parts = text.split(from);
    if (parts.length !== times + 1)
      throw new Error(`${file}: found ${parts.length - 1} times, not ${times}: ${why}`);
    text = parts.join(to);
  }
  const directory = await mkdtemp(join(tmpdir(), "trunkline-meta-"));
  const path = join(directory, "openapi.yaml");
  await writeFile(path, text);
  return { path, remove: () => rm(directory, { recursive: true }) };
}
