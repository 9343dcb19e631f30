import { spawn, type ChildProcessWithoutNullStreams } from "node:child_process";
import { once } from "node:events";
import type { Socket } from "node:net";
import { fileURLToPath } from "node:url";
import { openSlots } from "../../lib/slots.ts";
import { SpeechError, type SpeechDriver } from "./driver.ts";
import type { SpeakerOrder } from "./packaged-speaker.ts";
import { recognizeByCommand } from "./recognize-by-command.ts";
import { soundOfSpeech } from "./sound-of-speech.ts";
import { openAnswerReader, type SpeakerAnswer } from "./speaker-answer.ts";
import { spokenText, voicesFor } from "./spoken-text.ts";

export type PackagedSpeechOptions = {
  /** As of openCommandSpeech. */
  readonly recognize_command: string | null;
};

/** The process of the speaker: started when it is needed, unnoticed while nothing is said. */
export type PackagedSpeech = SpeechDriver & {
  /** Of the process that speaks; null: none runs. */
  pid(): number | null;
};

type Speaker = ChildProcessWithoutNullStreams;

const seconds_max = 60;
const waiting_max = 1_000;
/** It holds 150 MB: given back when nothing is said any more. */
const idle_ms_max = 30_000;
const complaint_bytes_max = 1_000;

/**
 * Speaks with npm's `espeak-ng`, where it is installed, in one process of its own, one text after the other;
 * a new process follows one that died. `recognize` as of openCommandSpeech.
 */
export function openPackagedSpeech({ recognize_command }: PackagedSpeechOptions): PackagedSpeech {
  const slots = openSlots(1, waiting_max);
  let speaker: Speaker | null = null;
  let idle: NodeJS.Timeout | undefined;

  const start = async (): Promise<Speaker> => {
    const path = fileURLToPath(new URL("./packaged-speaker.ts", import.meta.url));
    // Nothing of our environment is its business.
    const child = spawn(process.execPath, [path], { stdio: "pipe", env: {} });
    child.on("exit", () => {
      if (speaker === child) speaker = null;
    });
    // Until then it may have no streams (EMFILE), and its "error" must have a listener.
    await once(child, "spawn").catch((error: unknown) => {
      throw new SpeechError("failed", "the packaged speaker could not be run", { cause: error });
    });
    // What it cannot take is told by its end.
    child.stdin.on("error", () => {});
    return child;
  };
  const ask = async (order: SpeakerOrder): Promise<SpeakerAnswer> => {
    clearTimeout(idle);
    const child = speaker ?? (await start());
    speaker = child;
    holdOpen(child, true);
    try {
      return await answerOf(child, order);
    } catch (error) {
      speaker = null;
      child.kill("SIGKILL");
      throw error;
    } finally {
      holdOpen(child, false);
      idle = setTimeout(() => child.kill("SIGKILL"), idle_ms_max).unref();
    }
  };
  return {
    voice: "packaged espeak-ng 1.0.2",
    pid: () => speaker?.pid ?? null,
    async speak(utterance) {
      const order = { text: spokenText(utterance), voices: voicesFor(utterance.language) };
      const { spoke, bytes } = await slots.use(() => ask(order));
      if (!spoke) throw new SpeechError("failed", `espeak-ng: ${bytes.toString("utf8")}`);
      return soundOfSpeech(bytes);
    },
    recognize: recognizeByCommand(recognize_command),
  };
}

/** Whether our own process waits for it before it ends. */
function holdOpen(child: Speaker, hold: boolean): void {
  // Pipes of a child are sockets, which their types leave out.
  const pipes = [child.stdin, child.stdout, child.stderr] as unknown as readonly Socket[];
  for (const part of [child, ...pipes] as readonly Pick<Socket, "ref" | "unref">[])
    if (hold) part.ref();
    else part.unref();
}

async function answerOf(child: Speaker, order: SpeakerOrder): Promise<SpeakerAnswer> {
  const { promise, resolve, reject } = Promise.withResolvers<SpeakerAnswer>();
  const fail = (what: string) => reject(new SpeechError("failed", `the packaged speaker ${what}`));
  const read = openAnswerReader();
  let complaint = "";
  const onData = (piece: Buffer) => {
    const answer = read(piece);
    if (answer !== null) resolve(answer);
  };
  const onComplaint = (piece: Buffer) => {
    complaint = `${complaint}${piece.toString("utf8")}`.slice(0, complaint_bytes_max);
  };
  const onClose = () => fail(`ended: ${complaint.trim()}`);
  const timer = setTimeout(() => fail(`took longer than ${seconds_max} s`), seconds_max * 1_000);
  child.stdout.on("data", onData);
  child.stderr.on("data", onComplaint);
  child.on("close", onClose);
  child.stdin.write(`${JSON.stringify(order)}\n`);
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    child.stdout.off("data", onData);
    child.stderr.off("data", onComplaint);
    child.off("close", onClose);
  }
}
