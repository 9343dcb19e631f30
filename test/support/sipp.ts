// SIPp as the carrier and as the agents' phones of a started Asterisk. The dialed number selects their
// behavior: see sipp/outcomes.ts.
import { spawn } from "node:child_process";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { findAsteriskFiles } from "../../scripts/asterisk/asterisk-files.ts";
import type { RunningAsterisk } from "../../scripts/asterisk/start-asterisk.ts";
import { eventually } from "./eventually.ts";
import { writeVoice } from "./sipp/write-voice.ts";
import { fastScenario, steeredScenario } from "./sipp/write-scenario.ts";

export type Sipp = {
  readonly pid: number;
  /** Returns SIPp's log of unexpected messages; empty if every call followed the scenario. */
  errors(): string;
  /** Returns all SIP messages with their times; empty without `keeps_messages`. */
  messages(): string;
  /** Kills it, which drops its calls without a message. */
  stop(): Promise<void>;
};

export type SippOptions = {
  /** The name of its folder in the run folder. */
  readonly name: string;
  /** Its UDP port on 127.0.0.1. */
  readonly port: number;
  /** `steered` by the dialed number (default, outcomes.ts), or `fast`: answers every call after 200 ms, for load. */
  readonly scenario?: "steered" | "fast";
  /** For `fast`: hangs up this long after its answer; by default it waits for the other side. */
  readonly talk_ms?: number;
  /** Logs every message, see `messages`. */
  readonly keeps_messages?: boolean;
};

/** Ports for audio: one for all echoed audio, two for each call that speaks. */
const rtp_ports = 400;

/** Starts the carrier of the endpoint `trunk`. */
export function startCarrier(
  asterisk: RunningAsterisk,
  scenario: SippOptions["scenario"] = "steered",
  more: Pick<SippOptions, "keeps_messages" | "talk_ms"> = {},
): Promise<Sipp> {
  return startSipp(asterisk, { name: "carrier", port: asterisk.ports.carrier, scenario, ...more });
}

/** Starts the phones of all agents. */
export function startPhones(
  asterisk: RunningAsterisk,
  scenario: SippOptions["scenario"] = "steered",
): Promise<Sipp> {
  return startSipp(asterisk, { name: "phones", port: asterisk.ports.phone, scenario });
}

/**
 * Starts the unpacked SIPp as a far end of `asterisk`; resolves when it listens. Sends digits as RTP
 * events if run as root, otherwise by SIP INFO. It ends with this process.
 */
export async function startSipp(asterisk: RunningAsterisk, options: SippOptions): Promise<Sipp> {
  const files = findAsteriskFiles();
  if (files === null) throw new Error("SIPp is not installed; run `npm run asterisk:install`");
  const dir = join(asterisk.run_dir, options.name);
  mkdirSync(dir, { recursive: true });
  const scenario_path = join(dir, "scenario.xml");
  const scenario =
    options.scenario === "fast"
      ? fastScenario(options.talk_ms)
      : steeredScenario({
          digits_by: process.getuid?.() === 0 ? "rtp" : "info",
          speech_path: join(asterisk.sounds_dir, "clip5.wav"),
          hello_path: join(dir, "hello.ulaw"),
          greeting_path: join(dir, "greeting.ulaw"),
        });
  writeFileSync(scenario_path, scenario);
  // Silence first, because the first packets may arrive before the call is connected.
  writeVoice(join(dir, "hello.ulaw"), [0, 0.3, 0.6, 30]);
  writeVoice(join(dir, "greeting.ulaw"), [0, 0.3, 10, 30]);
  const error_path = join(dir, "errors.log");
  const message_path = join(dir, "messages.log");
  const rtp = await freeRtpPort();
  const words = [
    ...files.command("usr/bin/sipp"),
    "-sf",
    scenario_path,
    "-i",
    "127.0.0.1",
    "-p",
    String(options.port),
    "-nostdin",
    "-mi",
    "127.0.0.1",
    "-rtp_echo",
    "-min_rtp_port",
    String(rtp),
    "-max_rtp_port",
    String(rtp + rtp_ports - 1),
    "-trace_err",
    "-error_file",
    error_path,
    ...(options.keeps_messages ? ["-trace_msg", "-message_file", message_path] : []),
    // Without the watchdog, SIPp does not exit on a busy machine.
    "-watchdog_interval",
    "0",
  ];
  const child = spawn("setpriv", ["--pdeathsig", "SIGKILL", ...words], {
    cwd: dir,
    env: { ...process.env, TERM: "dumb" },
    stdio: ["ignore", "ignore", "pipe"],
  });
  let output = "";
  child.stderr.on("data", (chunk: Buffer) => (output += chunk.toString()));
  const gone = once(child, "exit");
  const errors = () => output + (existsSync(error_path) ? readFileSync(error_path, "utf8") : "");
  await eventually(() => {
    if (child.exitCode !== null) throw new Error(`SIPp ended at the start:\n${errors()}`);
    return listens(options.port);
  });
  return {
    pid: child.pid!,
    errors,
    messages: () => (existsSync(message_path) ? readFileSync(message_path, "utf8") : ""),
    async stop() {
      child.kill("SIGKILL");
      await gone;
    },
  };
}

/** Returns the audio packets that a channel has received from its far end and sent to it. */
export async function rtpCounts(
  asterisk: RunningAsterisk,
  channel_id: string,
): Promise<{ readonly received: number; readonly sent: number }> {
  const { ari_url, ari_user, ari_password } = asterisk;
  const answer = await fetch(`${ari_url}/channels/${channel_id}/rtp_statistics`, {
    headers: { authorization: `Basic ${btoa(`${ari_user}:${ari_password}`)}` },
  });
  if (!answer.ok) throw new Error(`rtp_statistics: ${answer.status} ${await answer.text()}`);
  const { rxcount, txcount } = (await answer.json()) as { rxcount: number; txcount: number };
  return { received: rxcount, sent: txcount };
}

/** Whether /proc/net/udp lists 127.0.0.1 and the port, in hexadecimal. */
function listens(port: number): boolean {
  const place = `0100007F:${port.toString(16).toUpperCase().padStart(4, "0")} `;
  return readFileSync("/proc/net/udp", "utf8").includes(place);
}

/** Returns the first port of an unused block below Asterisk's ports. */
export async function freeRtpPort(): Promise<number> {
  for (;;) {
    const port = 6_000 + 2 * Math.floor(Math.random() * 1_800);
    const socket = createSocket("udp4");
    const free = once(socket, "listening").then(
      () => true,
      () => false,
    );
    socket.bind(port, "127.0.0.1");
    if (await free) {
      socket.close();
      return port;
    }
  }
}
