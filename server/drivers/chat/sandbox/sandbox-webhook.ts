// The sandbox's webhooks: reports as the driver's interface knows them, with times as text. They are
// stored like a provider's and read again, so they are read with the same distrust.
import type { Report, ReportBatch } from "../driver.ts";

type StatusReport = Extract<Report, { kind: "status" }>;
type ReplyReport = Extract<Report, { kind: "reply" }>;
type Written<T extends { at: Date }> = Omit<T, "at"> & { readonly at: string };
export type SandboxReport = Written<StatusReport> | Written<ReplyReport>;

/** A body for the receiver of webhooks; JSON keeps it as it is. */
export type SandboxWebhook = {
  readonly object: "trunkline_sandbox";
  readonly phone_number_id: string;
  readonly business_account_id: string;
  readonly reports: readonly SandboxReport[];
};

type Subject = {
  readonly provider_message_id: string;
  readonly message_id: string;
  readonly to: string;
};

export function statusReport(
  { provider_message_id, message_id }: Subject,
  status: StatusReport["status"],
  at: Date,
): SandboxReport {
  const code = status === "failed" ? 131_026 : null;
  return { kind: "status", provider_message_id, message_id, status, at: at.toISOString(), code };
}

/** The customer writes `text` in answer to the message. */
export function replyReport(
  { provider_message_id, to }: Subject,
  text: string,
  at: Date,
): SandboxReport {
  return {
    kind: "reply",
    provider_message_id: `${provider_message_id}-reply`,
    from: to,
    at: at.toISOString(),
    type: "text",
    text,
    payload: null,
    answers: provider_message_id,
  };
}

/** Reads a stored body, parsed; what is not the sandbox's is left out. */
export function readWebhook(body: unknown): readonly ReportBatch[] {
  const webhook = record(body);
  if (webhook?.["object"] !== "trunkline_sandbox" || !Array.isArray(webhook["reports"])) return [];
  const { phone_number_id, business_account_id } = webhook;
  if (typeof phone_number_id !== "string" || typeof business_account_id !== "string") return [];
  const reports = webhook["reports"].flatMap((report) => readReport(record(report)) ?? []);
  return reports.length === 0 ? [] : [{ phone_number_id, business_account_id, reports }];
}

function readReport(report: Readonly<Record<string, unknown>> | null): Report | null {
  const at = new Date(typeof report?.["at"] === "string" ? report["at"] : Number.NaN);
  const provider_message_id = report?.["provider_message_id"];
  if (report === null || typeof provider_message_id !== "string") return null;
  if (Number.isNaN(at.getTime())) return null;
  const { kind, from, text, type, answers, message_id, code } = report;
  if (kind === "reply") {
    if (typeof from !== "string" || typeof text !== "string" || type !== "text") return null;
    if (typeof answers !== "string") return null;
    return { kind, provider_message_id, from, at, type, text, payload: null, answers };
  }
  const status = (["sent", "delivered", "read", "failed"] as const).find(
    (known) => known === report["status"],
  );
  if (kind !== "status" || status === undefined || typeof message_id !== "string") return null;
  const known_code = typeof code === "number" ? code : null;
  return { kind, provider_message_id, message_id, status, at, code: known_code };
}

function record(value: unknown): Readonly<Record<string, unknown>> | null {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : null;
}
