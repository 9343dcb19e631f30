// The only reader of the environment. Every violation is reported at once.
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { validateNetwork } from "./lib/addresses/address-list.ts";
import { networkSetting } from "./lib/addresses/network-setting.ts";
import { postgresUrl, replicaSettings } from "./lib/database/database-settings.ts";
import { hostInUrl, isLoopback } from "./lib/outgoing/listening-host.ts";
import { validateOpening } from "./lib/outgoing/parse-opening.ts";
import { oidcSettings, type OidcSettings } from "./lib/outgoing/oidc-settings.ts";
import { smtpSettings, type SmtpSettings } from "./lib/outgoing/smtp-settings.ts";
import { exportPassphrase } from "./lib/secrets/export-passphrase.ts";
import { tracingSettings, type TracingSettings } from "./lib/tracing/tracing-settings.ts";
import { parseSecretKeys, type SecretKeySource } from "./lib/secrets/secret-keys.ts";

const log_levels = ["fatal", "error", "warn", "info", "debug", "trace", "silent"] as const;
export type LogLevel = (typeof log_levels)[number];
export type Role = "api" | "worker";

/** The settings of the process; `.env.example` describes each of them. */
export type Config = {
  readonly host: string;
  readonly port: number;
  readonly data_dir: string;
  /** Null: the embedded PostgreSQL in `data_dir`. */
  readonly database_url: string | null;
  /** For lists, reports and exports; null: they read from the primary too. */
  readonly replica: ReturnType<typeof replicaSettings>;
  /** The keys that seal stored secrets; null: those in the data folder of the embedded PostgreSQL. */
  readonly secret_keys: SecretKeySource | null;
  /** The passphrase that encrypts exported accounts; null: none can be exported or imported. */
  readonly export_passphrase: string | null;
  readonly roles: readonly Role[];
  readonly log_level: LogLevel;
  /** The address at which users and webhooks reach the service, without a trailing slash. */
  readonly public_url: string;
  readonly seed: "demo" | "none";
  /** How long a lease outlives a process that died. */
  readonly lease_seconds: number;
  /** How long to wait for delivery statuses of a message of unknown outcome. */
  readonly chat_settle_seconds: number;
  /** How long a voice node may be out of contact before its calls end as lost. */
  readonly node_lost_seconds: number;
  /** Non-public addresses and networks that callbacks may go to, as parseOpening reads them. */
  readonly callback_allow: readonly string[];
  /** Addresses and networks of proxies whose X-Forwarded-For names the client. */
  readonly trusted_proxies: readonly string[];
  /** Null: anyone who reaches the port reads the metrics. */
  readonly metrics_token: string | null;
  /** Of the WhatsApp Cloud API, with the version, without a trailing slash. */
  readonly whatsapp_api_url: string;
  /** Null: only accounts with a credential of their own can send WhatsApp messages from this process. */
  readonly whatsapp: WhatsappConfig | null;
  /** Null: no mails; people copy the links of invitations and password resets. */
  readonly smtp: SmtpSettings | null;
  /** Null: people sign in with passwords only. */
  readonly oidc: OidcSettings | null;
  /** Null: espeak-ng from the PATH, or else from npm. */
  readonly speech_command: string | null;
  /** Null: no speech recognition. */
  readonly speech_recognize_command: string | null;
  /** Null: AI agents follow their script; realtime models are unavailable. */
  readonly realtime: RealtimeConfig | null;
  /** Null: no traces. */
  readonly tracing: TracingSettings | null;
};

/** Credentials of the WhatsApp Cloud API. */
export type WhatsappConfig = {
  readonly access_token: string;
  readonly app_secret: string;
  readonly verify_token: string;
};

/** A server of the OpenAI Realtime protocol. */
export type RealtimeConfig = {
  /** A ws: or wss: URL without the model. */
  readonly url: string;
  /** Null: the server requires no key. */
  readonly api_key: string | null;
  /** The default model of realtime AI agents. */
  readonly model: string;
  /** Transcribes what callers say. */
  readonly transcription_model: string;
};

export class ConfigError extends Error {
  override readonly name = "ConfigError";
  readonly violations: readonly string[];
  constructor(violations: readonly string[]) {
    super(
      `Invalid settings (${violations.length}):\n${violations.map((f) => `  - ${f}`).join("\n")}`,
    );
    this.violations = violations;
  }
}

/** Reads the settings; throws a ConfigError that names every invalid one. */
export function readConfig(env: NodeJS.ProcessEnv): Config {
  const violations: string[] = [];
  const violation = (text: string) => void violations.push(text);
  const host = env["HOST"] || "127.0.0.1";
  const given_url = readSecret(env, "DATABASE_URL", violation);
  const database_url = postgresUrl("DATABASE_URL", given_url, violation);
  const port = readPort(env["PORT"] || "8080", violation);
  const config: Config = {
    host,
    port,
    data_dir: resolve(env["DATA_DIR"] || "./data"),
    database_url,
    replica: readReplica(env, database_url, violation),
    secret_keys: readSecretKeys(env, violation),
    export_passphrase: readPassphrase(env, violation),
    roles: readRoles(env["ROLES"] || "api,worker", violation),
    log_level: oneOf("LOG_LEVEL", env["LOG_LEVEL"] || "info", log_levels, violation),
    public_url: env["PUBLIC_URL"]
      ? readUrl("PUBLIC_URL", env["PUBLIC_URL"], violation)
      : `http://${hostInUrl(host)}:${port}`,
    seed: readSeed(env["TRUNKLINE_SEED"], database_url === null && isLoopback(host), violation),
    lease_seconds: readSeconds("LEASE_SECONDS", env["LEASE_SECONDS"] || "10", 60, violation),
    chat_settle_seconds: readSeconds(
      "CHAT_SETTLE_SECONDS",
      env["CHAT_SETTLE_SECONDS"] || "3600",
      604_800,
      violation,
    ),
    node_lost_seconds: readSeconds(
      "NODE_LOST_SECONDS",
      env["NODE_LOST_SECONDS"] || "60",
      86_400,
      violation,
    ),
    ...readNetworks(env, violation),
    metrics_token: readSecret(env, "METRICS_TOKEN", violation),
    whatsapp_api_url: readUrl(
      "WHATSAPP_API_URL",
      env["WHATSAPP_API_URL"] || "https://graph.facebook.com/v23.0",
      violation,
    ),
    whatsapp: readWhatsapp(env, violation),
    smtp: smtpSettings(
      readSecret(env, "SMTP_URL", violation),
      env["MAIL_FROM"]?.trim() || null,
      violation,
    ),
    oidc: oidcSettings(
      {
        issuer: env["OIDC_ISSUER"]?.trim() || null,
        client_id: env["OIDC_CLIENT_ID"]?.trim() || null,
        client_secret: readSecret(env, "OIDC_CLIENT_SECRET", violation),
        label: env["OIDC_LABEL"]?.trim() || null,
      },
      violation,
    ),
    speech_command: env["SPEECH_COMMAND"]?.trim() || null,
    speech_recognize_command: env["SPEECH_RECOGNIZE_COMMAND"]?.trim() || null,
    realtime: readRealtime(env, violation),
    tracing: tracingSettings(env, violation),
  };
  if (config.database_url !== null && config.secret_keys === null) violation(key_needed);
  if (config.roles.length === 1 && config.database_url === null) {
    violation(
      "ROLES: one process with a single role needs DATABASE_URL, so that the others reach its database",
    );
  }
  if (violations.length > 0) throw new ConfigError(violations);
  return config;
}

type Violation = (text: string) => void;

const readPassphrase = (env: NodeJS.ProcessEnv, violation: Violation): string | null =>
  exportPassphrase(readSecret(env, "TRUNKLINE_EXPORT_PASSPHRASE", violation), violation);

function readSecret(env: NodeJS.ProcessEnv, name: string, violation: Violation): string | null {
  const file = env[`${name}_FILE`];
  if (!file) return env[name] || null;
  if (env[name]) violation(`${name} and ${name}_FILE are both set; keep one`);
  try {
    return readFileSync(file, "utf8").trim();
  } catch (error) {
    violation(`${name}_FILE: cannot read ${file} (${(error as NodeJS.ErrnoException).code})`);
    return null;
  }
}

const key_form = "32 bytes in base64, such as the output of: openssl rand -base64 32";
const key_needed = `TRUNKLINE_SECRET_KEY: is required with DATABASE_URL, to seal the secrets in the database: ${key_form}`;

/** Reads keys from the environment or names their file, which is read again after a rotation. */
function readSecretKeys(env: NodeJS.ProcessEnv, violation: Violation): SecretKeySource | null {
  const name = "TRUNKLINE_SECRET_KEY";
  const file = env[`${name}_FILE`];
  const text = readSecret(env, "TRUNKLINE_SECRET_KEY", violation);
  if (text === null) return file ? { file } : null;
  const keys = parseSecretKeys(text);
  if (keys === null) violation(`${name}: each key must be ${key_form}`);
  return file ? { file } : { keys: keys ?? [] };
}

/** A demo belongs on the machine itself only, unless it is asked for. */
function readSeed(
  text: string | undefined,
  isLocal: boolean,
  violation: Violation,
): Config["seed"] {
  const by_default = isLocal ? "demo" : "none";
  return oneOf("TRUNKLINE_SEED", text || by_default, ["demo", "none"] as const, violation);
}

function readPort(text: string, violation: Violation): number {
  const port = Number(text);
  if (!/^[0-9]{1,5}$/.test(text) || port > 65_535)
    violation(`PORT: "${text}" is not a valid port (0-65535)`);
  return port;
}

function readReplica(env: NodeJS.ProcessEnv, database_url: string | null, violation: Violation) {
  const name = "DATABASE_READ_STALENESS_SECONDS";
  const text = env["DATABASE_READ_STALENESS_SECONDS"] || "5";
  const url = readSecret(env, "DATABASE_READ_URL", violation);
  return replicaSettings(url, readSeconds(name, text, 3_600, violation), database_url, violation);
}

function readRoles(text: string, violation: Violation): Role[] {
  const names = text.split(",").map((name) => name.trim());
  const roles = (["api", "worker"] as const).filter((role) => names.includes(role));
  if (roles.length !== names.length) violation(`ROLES: "${text}" is not a list of api, worker`);
  return roles;
}

function readSeconds(name: string, text: string, most: number, violation: Violation): number {
  const seconds = Number(text);
  if (!/^[0-9]{1,7}$/.test(text) || seconds < 1 || seconds > most)
    violation(`${name}: "${text}" is not a whole number of seconds from 1 to ${most}`);
  return seconds;
}

function readNetworks(env: NodeJS.ProcessEnv, violation: Violation) {
  const [openings, proxies] = [env["CALLBACK_ALLOW"], env["TRUSTED_PROXIES"]];
  return {
    callback_allow: networkSetting("CALLBACK_ALLOW", openings, validateOpening, violation),
    trusted_proxies: networkSetting("TRUSTED_PROXIES", proxies, validateNetwork, violation),
  };
}

/** Requires all credentials or none: with a part of them, messages could be sent but no statuses received. */
function readWhatsapp(env: NodeJS.ProcessEnv, violation: Violation): WhatsappConfig | null {
  const access_token = readSecret(env, "WHATSAPP_ACCESS_TOKEN", violation);
  const app_secret = readSecret(env, "WHATSAPP_APP_SECRET", violation);
  const verify_token = readSecret(env, "WHATSAPP_VERIFY_TOKEN", violation);
  // An HTTP header cannot carry it, so every send would fail as never sent.
  if (access_token && !/^[!-~]+$/.test(access_token))
    violation("WHATSAPP_ACCESS_TOKEN: contains characters that are not allowed in a token");
  if (access_token && app_secret && verify_token) return { access_token, app_secret, verify_token };
  if (access_token || app_secret || verify_token)
    violation(
      "WHATSAPP_ACCESS_TOKEN, WHATSAPP_APP_SECRET, WHATSAPP_VERIFY_TOKEN: set all of them or none",
    );
  return null;
}

/** The URL alone is enough for a server without authentication; a key alone means OpenAI's server. */
function readRealtime(env: NodeJS.ProcessEnv, violation: Violation): RealtimeConfig | null {
  const api_key = readSecret(env, "REALTIME_API_KEY", violation);
  const given = env["REALTIME_URL"] || null;
  const url = given ?? "wss://api.openai.com/v1/realtime";
  // Neither is echoed: the URL may contain a password, and the key is a secret.
  if (!URL.canParse(url) || !/^wss?:$/.test(new URL(url).protocol) || url.includes("#"))
    violation("REALTIME_URL: must have the form wss://host/path");
  if (api_key && !/^[!-~]+$/.test(api_key))
    violation("REALTIME_API_KEY: contains characters that are not allowed in a key");
  // The models that OpenAI recommends in November 2026 for a session that detects pauses by itself.
  const model = env["REALTIME_MODEL"] || "gpt-realtime-2.1";
  const transcription_model = env["REALTIME_TRANSCRIPTION_MODEL"] || "gpt-transcribe";
  return given === null && api_key === null ? null : { url, api_key, model, transcription_model };
}

function readUrl(name: string, text: string, violation: Violation): string {
  if (!URL.canParse(text) || !/^https?:$/.test(new URL(text).protocol)) {
    violation(`${name}: "${text}" is not a valid http(s) address`);
  }
  return text.replace(/\/+$/, "");
}

function oneOf<T extends string>(
  name: string,
  text: string,
  allowed: readonly T[],
  violation: Violation,
): T {
  const found = allowed.find((value) => value === text);
  if (found === undefined) violation(`${name}: "${text}" must be one of ${allowed.join(", ")}`);
  return found ?? allowed[0]!;
}
