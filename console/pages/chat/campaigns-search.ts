import type { CampaignStatus, RecipientFilter, RecipientState } from "../../api/chat.ts";
import type { Option } from "../../ui/option.ts";

export const status_options: readonly Option<CampaignStatus>[] = [
  { value: "running", label: "Running" },
  { value: "scheduled", label: "Scheduled" },
  { value: "paused", label: "Paused" },
  { value: "completed", label: "Completed" },
  { value: "cancelled", label: "Cancelled" },
  { value: "failed", label: "Failed" },
];

export const state_options: readonly Option<RecipientState>[] = [
  { value: "queued", label: "Queued" },
  { value: "deferred", label: "Waiting to retry" },
  { value: "dispatching", label: "Sending" },
  { value: "unknown", label: "Outcome unknown" },
  { value: "accepted", label: "Accepted" },
  { value: "sent", label: "Sent" },
  { value: "delivered", label: "Delivered" },
  { value: "read", label: "Read" },
  { value: "failed", label: "Failed" },
  { value: "skipped", label: "Skipped" },
  { value: "cancelled", label: "Cancelled" },
];

export type CampaignsSearch = { readonly status?: CampaignStatus };

export function readCampaignsSearch({ status }: Record<string, unknown>): CampaignsSearch {
  const known = status_options.find(({ value }) => value === status);
  return known ? { status: known.value } : {};
}

export function readRecipientSearch({ state, error }: Record<string, unknown>): RecipientFilter {
  const known = state_options.find(({ value }) => value === state);
  return {
    ...(known ? { state: known.value } : {}),
    ...(typeof error === "string" && /^[a-z_]{1,64}$/.test(error) ? { error } : {}),
  };
}

/** With what a new campaign begins. */
export type ComposerSearch = {
  /** The only recipient. */
  readonly to?: string;
  /** The recipient's name, for the first variable. */
  readonly name?: string;
  /** The ID of the template. */
  readonly template?: number;
};

export function readComposerSearch({
  to,
  name,
  template,
}: Record<string, unknown>): ComposerSearch {
  return {
    ...(typeof to === "string" && /^\+\d{5,15}$/.test(to) ? { to } : {}),
    // The router reads a name of digits as a number.
    ...(typeof name === "string" || typeof name === "number" ? { name: String(name) } : {}),
    ...(Number.isSafeInteger(template) ? { template: template as number } : {}),
  };
}
