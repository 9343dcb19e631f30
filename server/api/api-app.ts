import { openMailer, type Mailer } from "../accounts/mailer.ts";
import { openTokenDirectory, type TokenDirectory } from "../accounts/tokens/token-directory.ts";
import { openWebhookGuards, type WebhookGuards } from "../chat/credentials/webhook-guards.ts";
import { openWebhookReceiver, type WebhookReceiver } from "../chat/inbound/webhook-receiver.ts";
import { openLeadIntake, type LeadIntake } from "../crm/leads/lead-intake.ts";
import { openWorkspaceSchemas, type WorkspaceSchemas } from "../crm/workspaces/workspace-schema.ts";
import type { MailDriver } from "../drivers/mail/driver.ts";
import type { OidcProvider } from "../drivers/oidc/driver.ts";
import type { App } from "../engine/app.ts";
import { openLiveEvents, type LiveEvents } from "../live/open-live-events.ts";
import type { ReadReplica } from "../lib/database/read-replica.ts";
import { openMetrics, type Metrics } from "../lib/metrics.ts";
import { openInstallationGauges } from "../reports/measure-installation.ts";
import { openTalks, type Talks } from "../voice/ai-agents/open-talks.ts";

/** The app with the parts that only the API's handlers use. */
export type ApiApp = App & {
  readonly tokens: TokenDirectory;
  readonly workspaceSchemas: WorkspaceSchemas;
  readonly leadIntake: LeadIntake;
  readonly webhookReceiver: WebhookReceiver;
  readonly webhookGuards: WebhookGuards;
  readonly live: LiveEvents;
  readonly talks: Talks;
  readonly metrics: Metrics;
  /** Sets the gauges of the whole installation. */
  readonly measureInstallation: () => Promise<void>;
  /** Null: every read uses the primary. */
  readonly replica: ReadReplica | null;
  /** The token that `/metrics` requires; null: none. */
  readonly metrics_token: string | null;
  readonly mailer: Mailer;
  /** Null: people sign in with passwords only. */
  readonly oidc: OidcProvider | null;
  /** The service's address, without a trailing slash, for links in mails and the identity provider. */
  readonly public_url: string;
};

type ApiSettings = Pick<ApiApp, "metrics_token" | "public_url" | "oidc" | "replica"> & {
  /** Null without a mail server. */
  readonly mail: MailDriver | null;
};

/** Opens the parts of the API on an app. */
export function openApiApp(app: App, { mail, ...settings }: ApiSettings): ApiApp {
  const metrics = openMetrics();
  return {
    ...app,
    metrics,
    measureInstallation: openInstallationGauges(app, metrics),
    ...settings,
    mailer: openMailer(mail, app.log),
    tokens: openTokenDirectory(app),
    workspaceSchemas: openWorkspaceSchemas(app),
    leadIntake: openLeadIntake(app, metrics),
    webhookReceiver: openWebhookReceiver(app, metrics),
    webhookGuards: openWebhookGuards(app),
    live: openLiveEvents(app, metrics),
    talks: openTalks(app),
  };
}
