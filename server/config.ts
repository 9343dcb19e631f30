// The only reader of the environment. Every violation is reported at once.
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { parseOpening } from "./lib/outgoing/parse-opening.ts";

export type LogLevel = "fatal" | "error" | "warn" | "info" | "debug" | "trace" | "silent";
export type Role = "api" | "worker";

/** What the process was told by its environment; `.env.example` describes each setting. */
export type Config = {
  readonly host: string;
  readonly port: number;
  readonly data_dir: string;
  /** Null: the embedded PostgreSQL in `data_dir`. */
  readonly database_url: string | null;
  readonly roles: readonly Role[];
  readonly log_level: LogLevel;
  /** The address people and callbacks reach us at, without a trailing slash. */
  readonly public_url: string;
  readonly seed: "demo" | "none";
  /** How long a role that one process holds stays its own after the process died. */
  readonly lease_seconds: number;
  /** How long a message whose outcome is unknown is waited for. */
  readonly chat_settle_seconds: number;
  /** Addresses and networks that callbacks may go to beside public ones, as parseOpening reads them. */
  readonly callback_allow: readonly string[];
  /** Null: WhatsApp numbers cannot send from this process. */
  readonly whatsapp: WhatsappConfig | null;
  /** Null: espeak-ng where it is on the PATH, else npm's. */
  readonly speech_command: string | null;
  /** Null: what callers say is not understood. */
  readonly speech_recognize_command: string | null;
  /** Null: AI agents follow their script; no model can be talked to. */
  readonly realtime: RealtimeConfig | null;
};

/** The access to the WhatsApp Cloud API. */
export type WhatsappConfig = {
  /** With its version, without a trailing slash. */
  readonly api_url: string;
  readonly access_token: string;
  readonly app_secret: string;
  readonly verify_token: string;
};

/** A server of the OpenAI Realtime protocol. */
export type RealtimeConfig = {
  /** ws: or wss:, without the model. */
  readonly url: string;
  /** Null: the server wants none. */
  readonly api_key: string | null;
  /** Of agents that name none. */
  readonly model: string;
};

export class ConfigError extends Error {
  override readonly name = "ConfigError";
  readonly violations: readonly string[];
  constructor(violations: readonly string[]) {
    super(
      `The environment has ${violations.length} violation(s):\n${violations.map((f) => `  - ${f}`).join("\n")}`,
    );
    this.violations = violations;
  }
}

const logLevels: readonly LogLevel[] = [
  "fatal",
  "error",
  "warn",
  "info",
  "debug",
  "trace",
  "silent",
];

/** Reads the settings, or throws a ConfigError that names every setting that is wrong. */
export function readConfig(env: NodeJS.ProcessEnv): Config {
  const violations: string[] = [];
  const violation = (text: string) => void violations.push(text);
  const host = env["HOST"] || "127.0.0.1";
  const port = readPort(env["PORT"] || "8080", violation);
  const config: Config = {
    host,
    port,
    data_dir: resolve(env["DATA_DIR"] || "./data"),
    database_url: readDatabaseUrl(readSecret(env, "DATABASE_URL", violation), violation),
    roles: readRoles(env["ROLES"] || "api,worker", violation),
    log_level: oneOf("LOG_LEVEL", env["LOG_LEVEL"] || "info", logLevels, violation),
    public_url: env["PUBLIC_URL"]
      ? readUrl("PUBLIC_URL", env["PUBLIC_URL"], violation)
      : `http://${hostInUrl(host)}:${port}`,
    seed: oneOf(
      "TRUNKLINE_SEED",
      env["TRUNKLINE_SEED"] || "demo",
      ["demo", "none"] as const,
      violation,
    ),
    lease_seconds: readSeconds("LEASE_SECONDS", env["LEASE_SECONDS"] || "10", 60, violation),
    chat_settle_seconds: readSeconds(
      "CHAT_SETTLE_SECONDS",
      env["CHAT_SETTLE_SECONDS"] || "3600",
      604_800,
      violation,
    ),
    callback_allow: readOpenings("CALLBACK_ALLOW", env["CALLBACK_ALLOW"] || "", violation),
    whatsapp: readWhatsapp(env, violation),
    speech_command: env["SPEECH_COMMAND"]?.trim() || null,
    speech_recognize_command: env["SPEECH_RECOGNIZE_COMMAND"]?.trim() || null,
    realtime: readRealtime(env, violation),
  };
  if (config.roles.length === 1 && config.database_url === null) {
    violation(
      "ROLES: one process with a single role needs DATABASE_URL, so that the others reach its database",
    );
  }
  if (violations.length > 0) throw new ConfigError(violations);
  return config;
}

type Violation = (text: string) => void;

function readSecret(env: NodeJS.ProcessEnv, name: string, violation: Violation): string | null {
  const file = env[`${name}_FILE`];
  if (!file) return env[name] || null;
  if (env[name]) violation(`${name} and ${name}_FILE are both set; keep one`);
  try {
    return readFileSync(file, "utf8").trim();
  } catch (error) {
    violation(`${name}_FILE: ${file} cannot be read (${(error as NodeJS.ErrnoException).code})`);
    return null;
  }
}

function readPort(text: string, violation: Violation): number {
  const port = Number(text);
  if (!/^[0-9]{1,5}$/.test(text) || port > 65_535)
    violation(`PORT: "${text}" is no port (0-65535)`);
  return port;
}

function readDatabaseUrl(text: string | null, violation: Violation): string | null {
  if (text === null) return null;
  const isPostgres = URL.canParse(text) && /^postgres(ql)?:$/.test(new URL(text).protocol);
  // The value is not echoed: it holds a password.
  if (!isPostgres)
    violation("DATABASE_URL: not of the form postgres://user:password@host:port/database");
  return text;
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

function readOpenings(name: string, text: string, violation: Violation): string[] {
  const entries = text.split(",").map((entry) => entry.trim());
  const given = entries.filter((entry) => entry !== "");
  for (const entry of given) {
    if (parseOpening(entry) !== null) continue;
    violation(
      `${name}: "${entry}" is neither an address nor a network, each with a port or without (127.0.0.1, 10.1.0.0/16, [::1]:9000)`,
    );
  }
  return given;
}

/** All of the access or none of it: half of it would send, and hear nothing back. */
function readWhatsapp(env: NodeJS.ProcessEnv, violation: Violation): WhatsappConfig | null {
  const access_token = readSecret(env, "WHATSAPP_ACCESS_TOKEN", violation);
  const app_secret = readSecret(env, "WHATSAPP_APP_SECRET", violation);
  const verify_token = readSecret(env, "WHATSAPP_VERIFY_TOKEN", violation);
  const api_url = readUrl(
    "WHATSAPP_API_URL",
    env["WHATSAPP_API_URL"] || "https://graph.facebook.com/v23.0",
    violation,
  );
  // No header can hold it, so every message would count as never sent, for ever.
  if (access_token && !/^[!-~]+$/.test(access_token))
    violation("WHATSAPP_ACCESS_TOKEN: has characters that no token has");
  if (access_token && app_secret && verify_token)
    return { api_url, access_token, app_secret, verify_token };
  if (access_token || app_secret || verify_token)
    violation(
      "WHATSAPP_ACCESS_TOKEN, WHATSAPP_APP_SECRET, WHATSAPP_VERIFY_TOKEN: set all of them, or none",
    );
  return null;
}

/** The address alone is enough for a server that wants no key; a key alone is one for OpenAI. */
function readRealtime(env: NodeJS.ProcessEnv, violation: Violation): RealtimeConfig | null {
  const api_key = readSecret(env, "REALTIME_API_KEY", violation);
  const given = env["REALTIME_URL"] || null;
  const url = given ?? "wss://api.openai.com/v1/realtime";
  // Neither is echoed: an address may hold a password, and a key is one.
  if (!URL.canParse(url) || !/^wss?:$/.test(new URL(url).protocol) || url.includes("#"))
    violation("REALTIME_URL: not of the form wss://host/path");
  if (api_key && !/^[!-~]+$/.test(api_key))
    violation("REALTIME_API_KEY: has characters that no key has");
  const model = env["REALTIME_MODEL"] || "gpt-realtime";
  return given === null && api_key === null ? null : { url, api_key, model };
}

function readUrl(name: string, text: string, violation: Violation): string {
  if (!URL.canParse(text) || !/^https?:$/.test(new URL(text).protocol)) {
    violation(`${name}: "${text}" is no http(s) address`);
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
  if (found === undefined) violation(`${name}: "${text}" is not one of ${allowed.join(", ")}`);
  return found ?? allowed[0]!;
}

function hostInUrl(host: string): string {
  if (host === "0.0.0.0" || host === "::") return "127.0.0.1";
  return host.includes(":") ? `[${host}]` : host;
}
