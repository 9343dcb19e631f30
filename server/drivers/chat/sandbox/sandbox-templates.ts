import { randomUUID } from "node:crypto";
import {
  ChatSendError,
  type ChatDriver,
  type ProviderTemplate,
  type TemplateStatus,
} from "../driver.ts";

/** Meta's limit for a business account. */
const templates_max = 6_000;

const statuses: readonly [prefix: string, status: TemplateStatus][] = [
  ["pending_", "PENDING"],
  ["rejected_", "REJECTED"],
  ["paused_", "PAUSED"],
];

/**
 * Keeps the sandbox's templates in memory. The prefix of a name decides the status: `pending_`, `rejected_` and
 * `paused_` keep it, any other template is approved at once.
 */
export function openSandboxTemplates(): Pick<
  ChatDriver,
  "listTemplates" | "createTemplate" | "deleteTemplate"
> {
  const accounts = new Map<string, readonly ProviderTemplate[]>();
  const of = (account: string) => accounts.get(account) ?? [];
  return {
    listTemplates: async (account) => of(account),
    async createTemplate(account, draft) {
      const { name, language } = draft;
      if (of(account).some((one) => one.name === name && one.language === language))
        throw refused("a template with this name and language already exists");
      if (of(account).length >= templates_max)
        throw refused("the business account has too many templates");
      const status = statuses.find(([prefix]) => name.startsWith(prefix))?.[1] ?? "APPROVED";
      const made: ProviderTemplate = {
        ...structuredClone(draft),
        provider_template_id: `sandbox-${randomUUID()}`,
        status,
        quality: "UNKNOWN",
        rejection_reason: status === "REJECTED" ? "INVALID_FORMAT" : null,
      };
      accounts.set(account, [...of(account), made]);
      return made;
    },
    async deleteTemplate(account, name) {
      const left = of(account).filter((one) => one.name !== name);
      if (left.length === of(account).length)
        throw refused("a template with this name does not exist");
      accounts.set(account, left);
    },
  };
}

function refused(message: string): ChatSendError {
  return new ChatSendError("rejected", message, { code: 100 });
}
