import { spawn, type ChildProcessWithoutNullStreams } from "node:child_process";
import { once } from "node:events";
import type { Socket } from "node:net";
import { fileURLToPath } from "node:url";
import { openSlots } from "../../lib/slots.ts";
import { SpeechError, type SpeechDriver } from "./driver.ts";
import type { SynthesizerRequest } from "./packaged-synthesizer.ts";
import { recognizeByCommand } from "./recognize-by-command.ts";
import { decodeSpeech } from "./decode-speech.ts";
import { openResponseReader, type SynthesizerResponse } from "./synthesizer-response.ts";
import { prepareText, voicesFor } from "./prepare-text.ts";

export type PackagedSpeechOptions = {
  /** See openCommandSpeech. */
  readonly recognize_command: string | null;
};

/** A speech driver with its own synthesizer process, which starts on demand and never keeps this process alive. */
export type PackagedSpeech = SpeechDriver & {
  /** Returns the process ID of the synthesizer; null: none is running. */
  pid(): number | null;
};

type Synthesizer = ChildProcessWithoutNullStreams;

const seconds_max = 60;
const waiting_max = 1_000;
/** The process uses 150 MB and is ended after this idle time. */
const idle_ms_max = 30_000;
const stderr_bytes_max = 1_000;

/**
 * Opens a driver that synthesizes with npm's `espeak-ng`, if installed, in one separate process, one text at a time.
 * A process that died is replaced. Recognizes speech as openCommandSpeech does.
 */
export function openPackagedSpeech({ recognize_command }: PackagedSpeechOptions): PackagedSpeech {
  const slots = openSlots(1, waiting_max);
  let synthesizer: Synthesizer | null = null;
  let idle: NodeJS.Timeout | undefined;

  const start = async (): Promise<Synthesizer> => {
    const path = fileURLToPath(new URL("./packaged-synthesizer.ts", import.meta.url));
    // The process does not need our environment.
    const child = spawn(process.execPath, [path], { stdio: "pipe", env: {} });
    child.on("exit", () => {
      if (synthesizer === child) synthesizer = null;
    });
    // Until "spawn" it may have no streams (EMFILE), and its "error" needs a listener.
    await once(child, "spawn").catch((error: unknown) => {
      throw new SpeechError("failed", "the packaged synthesizer could not be run", {
        cause: error,
      });
    });
    // A failed write is reported when the process exits.
    child.stdin.on("error", () => {});
    return child;
  };
  const send = async (request: SynthesizerRequest): Promise<SynthesizerResponse> => {
    clearTimeout(idle);
    const child = synthesizer ?? (await start());
    synthesizer = child;
    holdOpen(child, true);
    try {
      return await readResponse(child, request);
    } catch (error) {
      synthesizer = null;
      child.kill("SIGKILL");
      throw error;
    } finally {
      holdOpen(child, false);
      idle = setTimeout(() => child.kill("SIGKILL"), idle_ms_max).unref();
    }
  };
  return {
    voice: "packaged espeak-ng 1.0.2",
    pid: () => synthesizer?.pid ?? null,
    async synthesize(utterance) {
      const request = { text: prepareText(utterance), voices: voicesFor(utterance.language) };
      const { ok, bytes } = await slots.use(() => send(request));
      if (!ok) throw new SpeechError("failed", `espeak-ng: ${bytes.toString("utf8")}`);
      return decodeSpeech(bytes);
    },
    recognize: recognizeByCommand(recognize_command),
  };
}

/** Sets whether the child keeps this process alive. */
function holdOpen(child: Synthesizer, hold: boolean): void {
  // A child's pipes are sockets, which their types omit.
  const pipes = [child.stdin, child.stdout, child.stderr] as unknown as readonly Socket[];
  for (const part of [child, ...pipes] as readonly Pick<Socket, "ref" | "unref">[])
    if (hold) part.ref();
    else part.unref();
}

async function readResponse(
  child: Synthesizer,
  request: SynthesizerRequest,
): Promise<SynthesizerResponse> {
  const { promise, resolve, reject } = Promise.withResolvers<SynthesizerResponse>();
  const fail = (reason: string) =>
    reject(new SpeechError("failed", `the packaged synthesizer ${reason}`));
  const read = openResponseReader();
  let stderr = "";
  const onData = (chunk: Buffer) => {
    const response = read(chunk);
    if (response !== null) resolve(response);
  };
  const onStderr = (chunk: Buffer) => {
    stderr = `${stderr}${chunk.toString("utf8")}`.slice(0, stderr_bytes_max);
  };
  const onClose = () => fail(`exited: ${stderr.trim()}`);
  const timer = setTimeout(() => fail(`took longer than ${seconds_max} s`), seconds_max * 1_000);
  child.stdout.on("data", onData);
  child.stderr.on("data", onStderr);
  child.on("close", onClose);
  child.stdin.write(`${JSON.stringify(request)}\n`);
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    child.stdout.off("data", onData);
    child.stderr.off("data", onStderr);
    child.off("close", onClose);
  }
}
