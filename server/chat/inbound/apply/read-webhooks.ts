// The reports in stored webhooks, as text that PostgreSQL can hold.
import type { Report } from "../../../drivers/chat/driver.ts";
import type { App } from "../../../engine/app.ts";
import type { StoredWebhooks } from "./inbox.ts";

/** A provider's ids are below 100 characters, its texts below 5,000. */
const id_characters_max = 255;
const text_characters_max = 10_000;

/** A report; of an account's standing also whose it is. */
export type ReadReport =
  | Exclude<Report, { kind: "account" }>
  | (Extract<Report, { kind: "account" }> & { readonly business_account_id: string | null });

/** Everything that each of a row's webhooks reports. Throws when their driver is not configured here. */
export function readWebhooks(app: App, { driver, body }: StoredWebhooks): ReadReport[][] {
  const reader = app.chatDrivers[driver];
  if (!reader) throw new Error(`${driver} is not configured in this process`);
  return body.map((webhook) =>
    reader
      .readWebhook(webhook)
      .flatMap(({ reports, business_account_id }) =>
        reports.map((report) => storable(report, business_account_id)),
      ),
  );
}

function storable(report: Report, business_account_id: string | null): ReadReport {
  switch (report.kind) {
    case "status":
      return { ...report, provider_message_id: idOf(report.provider_message_id) };
    case "reply":
      return {
        ...report,
        provider_message_id: idOf(report.provider_message_id),
        answers: report.answers === null ? null : idOf(report.answers),
        type: idOf(report.type),
        text: report.text === null ? null : textOf(report.text),
        payload: report.payload === null ? null : textOf(report.payload),
      };
    case "account":
      return { ...report, event: textOf(report.event), business_account_id };
    case "preference":
    case "template":
      return report;
  }
}

const idOf = (text: string) => held(text, id_characters_max);
const textOf = (text: string) => held(text, text_characters_max);

/** Without NUL and halves of surrogate pairs, which no text of PostgreSQL's can hold. */
function held(text: string, characters_max: number): string {
  return text.replaceAll("\0", "").slice(0, characters_max).toWellFormed();
}
