// A separate process that synthesizes with npm's `espeak-ng`, which is optional and under the GPL: no other module
// imports it. Reads lines of JSON on stdin, responds to each on stdout, and exits when stdin ends.
import { readFile } from "node:fs/promises";
import { createInterface } from "node:readline";
import { encodeResponse, type SynthesizerResponse } from "./synthesizer-response.ts";

/** A line on stdin: the text and the voices to try, best first. */
export type SynthesizerRequest = { readonly text: string; readonly voices: readonly string[] };

const file = "/speech.wav";

const { default: runEspeak } = await import("espeak-ng");
// Compiled once, because it is 18 MB.
const program = await WebAssembly.compile(
  await readFile(new URL("espeak-ng.wasm", import.meta.resolve("espeak-ng"))),
);
for await (const line of createInterface({ input: process.stdin }))
  process.stdout.write(encodeResponse(await respond(JSON.parse(line) as SynthesizerRequest)));

async function respond({ text, voices }: SynthesizerRequest): Promise<SynthesizerResponse> {
  const errors: string[] = [];
  for (const voice of voices) {
    const wav = await synthesize(Buffer.from(text, "utf8"), voice, errors);
    if (wav !== null) return { ok: true, bytes: wav };
  }
  return { ok: false, bytes: Buffer.from(errors.join("; "), "utf8") };
}

/** Synthesizes in a new WebAssembly instance, so that no state remains for the next text. Null: no file was written. */
async function synthesize(text: Buffer, voice: string, errors: string[]): Promise<Buffer | null> {
  let at = 0;
  const { FS } = await runEspeak({
    arguments: ["-w", file, "-v", voice, "--stdin"],
    stdin: () => text[at++] ?? null,
    print: () => {},
    printErr: (line) => void errors.push(line),
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
