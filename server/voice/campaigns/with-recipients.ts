// Validates all of a launch as it came in, then opens the source of its recipients.
import type { Caller } from "../../accounts/caller.ts";
import { recipients_max, statement_seconds } from "../../audience/intake/limits.ts";
import {
  openFileSource,
  type RecipientFile,
  type RecipientSource,
} from "../../audience/recipients/recipient-source.ts";
import type { App } from "../../engine/app.ts";
import { csvParsing } from "../../lib/csv/csv-parsing.ts";
import { openLineThread } from "../../lib/csv/open-line-thread.ts";
import { Refusal, invalid, type FieldError } from "../../lib/errors.ts";
import type { VoiceFileTerms } from "./intake/file-thread.ts";
import { locateColumns } from "./intake/locate-columns.ts";
import { openSource } from "./intake/open-source.ts";
import type { VoiceRecipient } from "./intake/recipient-format.ts";
import {
  validateVoiceCampaign,
  type ValidatedVoiceCampaign,
} from "./internal/validate-voice-campaign.ts";
import { planVariables } from "./internal/plan-variables.ts";
import type { NewVoiceCampaign } from "./voice-campaign-schema.ts";

/** A launch that has arrived in full. */
export type AskedVoiceCampaign = {
  /** Of a right shape unless there are violations. */
  readonly body: NewVoiceCampaign;
  /** What is wrong with the shape. */
  readonly violations: readonly FieldError[];
  /** An open file, which lasts until the launch is answered; null when none came. */
  readonly fd: number | null;
  /** Whether a file could have come. */
  readonly is_form: boolean;
};

/** A campaign whose fields were found good. */
export type VoiceOrder = {
  readonly [Key in keyof Omit<ValidatedVoiceCampaign, "violations" | "send_to">]: Key extends
    | "scheduled_at"
    | "crm_workspace_id"
    ? ValidatedVoiceCampaign[Key]
    : NonNullable<ValidatedVoiceCampaign[Key]>;
};

const file_thread = new URL("./intake/file-thread.ts", import.meta.url);

/** Uses a validated campaign and its recipients. */
type Use<Answer> = (
  order: VoiceOrder,
  recipients: RecipientSource<VoiceRecipient>,
) => Promise<Answer>;

/** Refuses validation-failed, all violations at once, or hands on the order and its recipients. */
export async function withRecipients<Answer>(
  app: App,
  account: Caller["account"],
  asked: AskedVoiceCampaign,
  now: Date,
  use: Use<Answer>,
): Promise<Answer> {
  const validated = await validateVoiceCampaign(app.db.query, account, asked.body, now);
  if (validated.send_to === "csv") return withFile(account, asked, validated, use);
  const order = orderOf(asked, validated, []);
  const { source, plan } = order;
  if (source.send_to === "csv") throw new Error("a file is read by withFile");
  return use(order, openSource(app.db.pool, account, source, planVariables(plan)));
}

async function withFile<Answer>(
  account: Caller["account"],
  asked: AskedVoiceCampaign,
  validated: ValidatedVoiceCampaign,
  use: Use<Answer>,
): Promise<Answer> {
  const { fd } = asked;
  if (fd === null) {
    const reason = asked.is_form
      ? "is required when sendTo is csv"
      : "is required when sendTo is csv: send it as multipart/form-data";
    throw refusalOf(asked, validated, [{ field: "file", reason }]);
  }
  return csvParsing.use(account.id, async () => {
    const file = await openFile(fd);
    if (file instanceof Refusal) throw refusalOf(asked, validated, file.errors ?? []);
    try {
      const { source, plan } = validated;
      const column = source?.send_to === "csv" ? source.number_column : null;
      const variables = plan ? planVariables(plan) : [];
      const located = column === null ? null : locateColumns(file.header, column, variables);
      const order = orderOf(asked, validated, located?.violations ?? []);
      const { country_code } = account;
      const termsOf = (prefix: string | null) => ({ ...located!, country_code, prefix });
      return await use(order, openFileSource(file, termsOf));
    } finally {
      await file.close();
    }
  });
}

/** That a file is not CSV is reported together with the other fields' violations. */
async function openFile(fd: number): Promise<RecipientFile<VoiceFileTerms> | Refusal> {
  try {
    const data = { fd, rows_max: recipients_max };
    return await openLineThread(file_thread, data, statement_seconds);
  } catch (error) {
    if (error instanceof Refusal && error.type === "validation-failed") return error;
    throw error;
  }
}

function orderOf(
  asked: AskedVoiceCampaign,
  validated: ValidatedVoiceCampaign,
  more: readonly FieldError[],
): VoiceOrder {
  const { plan, source, scheduled_at, crm_workspace_id } = validated;
  const isGood = asked.violations.length + validated.violations.length + more.length === 0;
  if (!isGood || !plan || !source) throw refusalOf(asked, validated, more);
  return { plan, source, scheduled_at, crm_workspace_id };
}

/** Of a field the shape's violation comes before all others. */
function refusalOf(
  asked: AskedVoiceCampaign,
  validated: ValidatedVoiceCampaign,
  more: readonly FieldError[],
): Refusal {
  const failing = new Set(asked.violations.map(({ field }) => field));
  const found = [...validated.violations, ...more].filter(({ field }) => !failing.has(field));
  return invalid([...asked.violations, ...found]);
}
