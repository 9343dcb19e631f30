// A process of its own that speaks with npm's `espeak-ng`, which is under the GPL and optional: nothing else
// of ours imports it. Takes lines of JSON on stdin, answers each on stdout, ends when stdin does.
import { readFile } from "node:fs/promises";
import { createInterface } from "node:readline";
import { encodeAnswer, type SpeakerAnswer } from "./speaker-answer.ts";

/** A line on stdin: what to say, and in whose voices, the best first. */
export type SpeakerOrder = { readonly text: string; readonly voices: readonly string[] };

const file = "/speech.wav";

const { default: runEspeak } = await import("espeak-ng");
// Compiled once: it is 18 MB.
const program = await WebAssembly.compile(
  await readFile(new URL("espeak-ng.wasm", import.meta.resolve("espeak-ng"))),
);
for await (const line of createInterface({ input: process.stdin }))
  process.stdout.write(encodeAnswer(await answer(JSON.parse(line) as SpeakerOrder)));

async function answer({ text, voices }: SpeakerOrder): Promise<SpeakerAnswer> {
  const complaints: string[] = [];
  for (const voice of voices) {
    const wav = await say(Buffer.from(text, "utf8"), voice, complaints);
    if (wav !== null) return { spoke: true, bytes: wav };
  }
  return { spoke: false, bytes: Buffer.from(complaints.join("; "), "utf8") };
}

/** A fresh program for each text: whatever one does to it, the next finds none of it. Null: it gave no file. */
async function say(text: Buffer, voice: string, complaints: string[]): Promise<Buffer | null> {
  let at = 0;
  const { FS } = await runEspeak({
    arguments: ["-w", file, "-v", voice, "--stdin"],
    stdin: () => text[at++] ?? null,
    print: () => {},
    printErr: (line) => void complaints.push(line),
    instantiateWasm(imports, done) {
      void instantiate(imports, done);
      return {};
    },
  });
  return FS.analyzePath(file).exists ? Buffer.from(FS.readFile(file)) : null;
}

async function instantiate(imports: object, done: (instance: object) => void): Promise<void> {
  done(await WebAssembly.instantiate(program, imports));
}
