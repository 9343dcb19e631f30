import { randomUUID } from "node:crypto";
import {
  ChatSendError,
  type ChatDriver,
  type ProviderTemplate,
  type TemplateStatus,
} from "../driver.ts";

/** As many as Meta allows a business account. */
const templates_max = 6_000;

const statuses: readonly [prefix: string, status: TemplateStatus][] = [
  ["pending_", "PENDING"],
  ["rejected_", "REJECTED"],
  ["paused_", "PAUSED"],
];

/**
 * The templates this process was told of; a name's first word decides what becomes of one:
 * `pending_`, `rejected_` and `paused_` stay so, any other is approved at once.
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
        throw refused("the sandbox has a template of this name in this language");
      if (of(account).length >= templates_max) throw refused("the sandbox has too many templates");
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
        throw refused("the sandbox has no template of this name");
      accounts.set(account, left);
    },
  };
}

function refused(message: string): ChatSendError {
  return new ChatSendError("rejected", message, { code: 100 });
}
