// The far ends of calls: sipp as the carrier and as the agents' phones of a started Asterisk. What
// they do is told by the number that is dialled: see sipp/outcomes.ts.
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
  /** What it did not expect, in its own words; empty when all went as the scenario says. */
  errors(): string;
  /** Every message that came or went, with when; empty unless they were to be kept. */
  messages(): string;
  /** Drops its calls without a word. */
  stop(): Promise<void>;
};

export type SippOptions = {
  /** Names its folder in the run folder. */
  readonly name: string;
  /** Where it listens on 127.0.0.1 (UDP). */
  readonly port: number;
  /** `steered` (outcomes.ts) unless given; `fast` answers everybody after 200 ms, for load. */
  readonly scenario?: "steered" | "fast";
  /** Of `fast`: it hangs up so long after its answer, else it waits for the other to do so. */
  readonly talk_ms?: number;
  /** Writes every message to a file, see `messages`. */
  readonly keeps_messages?: boolean;
};

/** Its audio: one port for all that is sent back, two for each call that speaks. */
const rtp_ports = 400;

/** The carrier of the endpoint `trunk`. */
export function startCarrier(
  asterisk: RunningAsterisk,
  scenario: SippOptions["scenario"] = "steered",
  more: Pick<SippOptions, "keeps_messages" | "talk_ms"> = {},
): Promise<Sipp> {
  return startSipp(asterisk, { name: "carrier", port: asterisk.ports.carrier, scenario, ...more });
}

/** The phones of all agents. */
export function startPhones(
  asterisk: RunningAsterisk,
  scenario: SippOptions["scenario"] = "steered",
): Promise<Sipp> {
  return startSipp(asterisk, { name: "phones", port: asterisk.ports.phone, scenario });
}

/**
 * Starts the unpacked sipp as a far end of `asterisk`; resolves when it listens. Needs no root, but
 * sends digits as RTP events only as root, else by SIP INFO. It dies with this process.
 */
export async function startSipp(asterisk: RunningAsterisk, options: SippOptions): Promise<Sipp> {
  const files = findAsteriskFiles();
  if (files === null) throw new Error("there is no sipp yet: run `npm run asterisk:install`");
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
  // Silence first: the first packets may come before the call is connected.
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
    // It must not end because the machine was busy.
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
    if (child.exitCode !== null) throw new Error(`sipp ended at the start:\n${errors()}`);
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

/** The packets of audio that a channel's leg has received from its far end and sent to it. */
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

/** As the kernel lists it: 127.0.0.1, then the port, in hexadecimal. */
function listens(port: number): boolean {
  const place = `0100007F:${port.toString(16).toUpperCase().padStart(4, "0")} `;
  return readFileSync("/proc/net/udp", "utf8").includes(place);
}

/** The first of a block that nothing of ours uses: Asterisk's own ports lie above. */
async function freeRtpPort(): Promise<number> {
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
