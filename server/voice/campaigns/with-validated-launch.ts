// Validates a launch completely and opens its recipient source.
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
import { openRecipientSource } from "./intake/open-recipient-source.ts";
import type { VoiceRecipient } from "./intake/recipient-format.ts";
import {
  validateVoiceCampaign,
  type ValidatedVoiceCampaign,
} from "./internal/validate-voice-campaign.ts";
import { planVariables } from "./internal/plan-variables.ts";
import type { NewVoiceCampaign } from "./voice-campaign-schema.ts";

/** A launch that was received completely. */
export type VoiceLaunchRequest = {
  /** Conforms to the schema if `violations` is empty. */
  readonly body: NewVoiceCampaign;
  /** Violations of the schema. */
  readonly violations: readonly FieldError[];
  /** The uploaded file, open until the response; null if there is none. */
  readonly fd: number | null;
  /** Whether the request is multipart/form-data. */
  readonly is_form: boolean;
};

/** A validated launch without violations. */
export type VoiceLaunch = {
  readonly [Key in keyof Omit<ValidatedVoiceCampaign, "violations" | "send_to">]: Key extends
    | "scheduled_at"
    | "crm_workspace_id"
    ? ValidatedVoiceCampaign[Key]
    : NonNullable<ValidatedVoiceCampaign[Key]>;
};

const file_thread = new URL("./intake/file-thread.ts", import.meta.url);

/** Uses a validated launch and its recipients. */
type Use<Answer> = (
  launch: VoiceLaunch,
  recipients: RecipientSource<VoiceRecipient>,
) => Promise<Answer>;

/** Calls `use` with the validated launch and its recipients. Refuses: validation-failed, with all violations at once. */
export async function withValidatedLaunch<Answer>(
  app: App,
  account: Caller["account"],
  request: VoiceLaunchRequest,
  now: Date,
  use: Use<Answer>,
): Promise<Answer> {
  const validated = await validateVoiceCampaign(app, account, request.body, now);
  if (validated.send_to === "csv") return withFile(account, request, validated, use);
  const launch = launchOf(request, validated, []);
  const { source, plan } = launch;
  if (source.send_to === "csv") throw new Error("a file is read by withFile");
  return use(launch, openRecipientSource(app.db.pool, account, source, planVariables(plan)));
}

async function withFile<Answer>(
  account: Caller["account"],
  request: VoiceLaunchRequest,
  validated: ValidatedVoiceCampaign,
  use: Use<Answer>,
): Promise<Answer> {
  const { fd } = request;
  if (fd === null) {
    const reason = request.is_form
      ? "is required when sendTo is csv"
      : "is required when sendTo is csv: send it as multipart/form-data";
    throw refusalOf(request, validated, [{ field: "file", reason }]);
  }
  return csvParsing.use(account.id, async () => {
    const file = await openFile(fd);
    if (file instanceof Refusal) throw refusalOf(request, validated, file.errors ?? []);
    try {
      const { source, plan } = validated;
      const column = source?.send_to === "csv" ? source.number_column : null;
      const variables = plan ? planVariables(plan) : [];
      const located = column === null ? null : locateColumns(file.header, column, variables);
      const launch = launchOf(request, validated, located?.violations ?? []);
      const { country_code } = account;
      const termsOf = (prefix: string | null) => ({ ...located!, country_code, prefix });
      return await use(launch, openFileSource(file, termsOf));
    } finally {
      await file.close();
    }
  });
}

/** Returns the refusal of a file that is not CSV, which is reported with the violations of the other fields. */
async function openFile(fd: number): Promise<RecipientFile<VoiceFileTerms> | Refusal> {
  try {
    const data = { fd, rows_max: recipients_max };
    return await openLineThread(file_thread, data, statement_seconds);
  } catch (error) {
    if (error instanceof Refusal && error.type === "validation-failed") return error;
    throw error;
  }
}

function launchOf(
  request: VoiceLaunchRequest,
  validated: ValidatedVoiceCampaign,
  more: readonly FieldError[],
): VoiceLaunch {
  const { plan, source, scheduled_at, crm_workspace_id } = validated;
  const isValid = request.violations.length + validated.violations.length + more.length === 0;
  if (!isValid || !plan || !source) throw refusalOf(request, validated, more);
  return { plan, source, scheduled_at, crm_workspace_id };
}

/** Reports one kind of violation per field; violations of the schema come first. */
function refusalOf(
  request: VoiceLaunchRequest,
  validated: ValidatedVoiceCampaign,
  more: readonly FieldError[],
): Refusal {
  const failing = new Set(request.violations.map(({ field }) => field));
  const found = [...validated.violations, ...more].filter(({ field }) => !failing.has(field));
  return invalid([...request.violations, ...found]);
}
