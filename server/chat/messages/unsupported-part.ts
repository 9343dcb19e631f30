import type { TemplateComponent } from "../../drivers/chat/driver.ts";

/** The parts that messages are built with; all others need values that only the provider's own tools set. */
const component_types: ReadonlySet<string> = new Set(["HEADER", "BODY", "FOOTER", "BUTTONS"]);
const header_formats: ReadonlySet<string> = new Set(["TEXT", "IMAGE", "VIDEO", "DOCUMENT"]);
const button_types: ReadonlySet<string> = new Set([
  "QUICK_REPLY",
  "URL",
  "PHONE_NUMBER",
  "VOICE_CALL",
  "COPY_CODE",
  "FLOW",
]);

/**
 * Returns the first part of a template that campaigns cannot fill, such as "a LOCATION header", "an MPM
 * button" or "a CAROUSEL"; null if there is none. A message without the part would be rejected for every
 * recipient.
 */
export function unsupportedPart(components: readonly TemplateComponent[]): string | null {
  for (const { type, format = "TEXT", buttons } of components) {
    if (!component_types.has(type)) return withArticle(type);
    if (type === "HEADER" && !header_formats.has(String(format)))
      return withArticle(`${String(format)} header`);
    if (type !== "BUTTONS") continue;
    const types = (Array.isArray(buttons) ? buttons : []).map((button: { type?: unknown }) =>
      String(button.type),
    );
    const other = types.find((one) => !button_types.has(one));
    if (other !== undefined) return withArticle(`${other} button`);
  }
  return null;
}

/** Abbreviations such as MPM and SPM are spelled out when read. */
function withArticle(name: string): string {
  return `${/^(?:[AEIOU]|MPM|SPM)/.test(name) ? "an" : "a"} ${name}`;
}
