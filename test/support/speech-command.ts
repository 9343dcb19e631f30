// A speech command for tests: `beeps` synthesizes 10 ms of a tone per letter, 500 Hz in English and 800 Hz in Hindi,
// and fails for other languages; `names-tones` recognizes a high tone as "stop" and another as "opening hours"; the other
// first arguments name the action.
import { encodeWav } from "../../server/lib/audio/wav.ts";
import { pitchOf, tone } from "./tones.ts";

const rate_hz = 22_050;
const letter_ms = 10;
const pitches_hz: Readonly<Record<string, number>> = { en: 500, hi: 800 };

const [action, language = ""] = process.argv.slice(2);
const chunks: Buffer[] = [];
for await (const chunk of process.stdin) chunks.push(chunk as Buffer);
const input = Buffer.concat(chunks);

switch (action) {
  case "beeps":
    beep(input.toString("utf8"));
    break;
  case "recognizes":
    process.stdout.write(
      ` ${input.readUInt32LE(24)} Hz,\n${(input.length - 44) / 16} ms\tof ${language}\n`,
    );
    break;
  case "names-tones":
    process.stdout.write(pitchOf(input.subarray(44)) > 700 ? "stop" : "opening hours");
    break;
  case "hangs":
    setInterval(() => {}, 60_000);
    break;
  case "babbles":
    babble();
    break;
  default:
    process.stdout.write("not audio");
}

function beep(text: string): void {
  const hz = pitches_hz[language];
  if (hz === undefined) throw new Error(`unknown language ${language}`);
  if (text.includes("die")) process.kill(process.pid, "SIGKILL");
  const file = encodeWav(tone(Array.from(text).length * letter_ms, { hz, rate_hz }));
  file.writeUInt32LE(rate_hz, 24);
  process.stdout.write(file);
}

function babble(): void {
  process.stdout.write(Buffer.alloc(1_000_000), (error) => {
    if (!error) babble();
  });
}
