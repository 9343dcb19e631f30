import type { FieldError } from "../../../lib/errors.ts";

type Fields = Readonly<Record<string, unknown>>;

const text_characters_max = 25;
const url_characters_max = 2_000;
const phone_characters_max = 20;
const code_characters_max = 15;

/** Required fields, optional fields and the maximum number of each kind of button. */
const kinds: Readonly<
  Record<
    string,
    { readonly must: readonly string[]; readonly may: readonly string[]; most: number }
  >
> = {
  QUICK_REPLY: { must: ["text"], may: [], most: 10 },
  URL: { must: ["text", "url"], may: ["example"], most: 2 },
  PHONE_NUMBER: { must: ["text", "phone_number"], may: [], most: 1 },
  COPY_CODE: { must: ["example"], may: ["text"], most: 1 },
  FLOW: { must: ["text", "flow_id"], may: ["flow_action", "navigate_screen"], most: 1 },
};

/** Returns the violations of a template's buttons; `at` is the path of their component. */
export function validateButtons(buttons: unknown, at: string): FieldError[] {
  if (buttons === undefined) return [{ field: `${at}.buttons`, reason: "is required" }];
  if (!Array.isArray(buttons)) return [];
  const list: readonly unknown[] = buttons;
  const seen = new Map<string, number>();
  return list.flatMap((entry, i) => {
    const button = (typeof entry === "object" && entry !== null ? entry : {}) as Fields;
    const type = String(button["type"]);
    const kind = kinds[type];
    if (!kind) return [];
    const here = `${at}.buttons.${i}`;
    const count = (seen.get(type) ?? 0) + 1;
    seen.set(type, count);
    const tooMany =
      count > kind.most
        ? [{ field: `${here}.type`, reason: `exceeds the maximum of ${kind.most} ${type}` }]
        : [];
    return [...tooMany, ...validateFields(button, here), ...validateValues(button, here)];
  });
}

function validateFields(button: Fields, at: string): FieldError[] {
  const type = String(button["type"]);
  const { must, may } = kinds[type]!;
  const lacking = must
    .filter((field) => button[field] === undefined)
    .map((field) => ({ field: `${at}.${field}`, reason: "is required" }));
  const alien = Object.keys(button)
    .filter((field) => ![...must, ...may, "type"].includes(field))
    .map((field) => ({ field: `${at}.${field}`, reason: `does not belong to ${type}` }));
  return [...lacking, ...alien];
}

function validateValues(button: Fields, at: string): FieldError[] {
  const { text, url, phone_number, example } = button;
  const violations: FieldError[] = [];
  const violation = (name: string, reason: string) =>
    void violations.push({ field: `${at}.${name}`, reason });
  if (typeof text === "string" && !isText(text, text_characters_max)) {
    violation("text", `must be text of at most ${text_characters_max} characters, not blank`);
  }
  if (typeof text === "string" && /\{\{|\}\}/.test(text))
    violation("text", "takes no placeholders");
  if (typeof phone_number === "string" && !isText(phone_number, phone_characters_max)) {
    violation("phone_number", `must have 1 to ${phone_characters_max} characters`);
  }
  if (typeof url === "string") {
    const reason = validateUrl(url);
    if (reason !== null) violation("url", reason);
    else if (url.endsWith("}}") && example === undefined) {
      violation("example", "is required: an example of the whole address");
    }
  }
  if (button["type"] === "COPY_CODE" && example !== undefined) {
    const [code] = [example].flat() as unknown[];
    if (typeof code !== "string" || !isText(code, code_characters_max)) {
      violation("example", `must be a code of at most ${code_characters_max} characters`);
    }
  }
  return violations;
}

/** A placeholder is allowed only at the end, so that the start of the URL is fixed. */
function validateUrl(url: string): string | null {
  const fixed = url.replace(/\{\{1\}\}$/, "");
  if (url.length > url_characters_max) return `must have at most ${url_characters_max} characters`;
  if (/[{}]/.test(fixed)) return "takes one placeholder, {{1}}, at its end";
  return /^https?:\/\//i.test(fixed) && URL.canParse(fixed) ? null : "must be an http(s) address";
}

function isText(text: string, most: number): boolean {
  return text.trim() !== "" && Array.from(text).length <= most;
}
