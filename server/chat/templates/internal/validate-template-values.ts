import type { FieldError } from "../../../lib/errors.ts";
import { headerMediaKind, type PlannedTemplate } from "../../messages/build-message-plan.ts";
import { variablesOf, type HeaderMedia } from "../template-schema.ts";

/**
 * Returns the violations of a template's values: defaults for unknown keys and media that do not match
 * its header. Values of an invalid shape are skipped.
 */
export function validateTemplateValues(template: unknown): FieldError[] {
  const { variable_defaults, header_media, ...content } = template as Record<string, unknown>;
  const planned = { ...content, variable_defaults: {}, header_media: null } as unknown;
  return [
    ...validateDefaults(variable_defaults, planned as PlannedTemplate),
    ...validateMedia(header_media, planned as PlannedTemplate),
  ];
}

function validateDefaults(defaults: unknown, template: PlannedTemplate): FieldError[] {
  if (typeof defaults !== "object" || defaults === null) return [];
  const keys = variablesOf(template).map(({ key }) => key);
  // Once: there may be 70,000 unknown keys, and the template's own may have 6,000 characters.
  const reason =
    keys.length > 0 ? `must be one of ${keys.join(", ")}` : "the template takes no values";
  return Object.keys(defaults)
    .filter((key) => !keys.includes(key))
    .map((key) => ({ field: `variable_defaults.${key}`, reason }));
}

function validateMedia(media: unknown, { components }: PlannedTemplate): FieldError[] {
  if (typeof media !== "object" || media === null) return [];
  const kind = headerMediaKind(components);
  if (kind === null) {
    return [{ field: "header_media", reason: "is for a template with a media header" }];
  }
  const { id, link, filename } = media as HeaderMedia;
  const isGiven = (value: unknown) => value !== undefined && value !== null;
  if (isGiven(id) === isGiven(link)) {
    return [{ field: "header_media", reason: "must have either id or link" }];
  }
  const violations: FieldError[] = [];
  if (typeof link === "string" && !isPublicLink(link)) {
    violations.push({ field: "header_media.link", reason: "must be an https address" });
  }
  if (isGiven(filename) && kind !== "document") {
    violations.push({ field: "header_media.filename", reason: "is for documents" });
  }
  return violations;
}

function isPublicLink(link: string): boolean {
  return /^https:\/\//i.test(link) && URL.canParse(link);
}
