// Stands in for what the operator may configure, in tests: speaks by a beep of 10 ms a letter, 500 Hz high in
// English and 800 Hz in Hindi (it knows no other language), or does what its first word says.
import { toWav } from "../../server/lib/audio/wav.ts";
import { tone } from "./tones.ts";

const rate_hz = 22_050;
const letter_ms = 10;
const pitches_hz: Readonly<Record<string, number>> = { en: 500, hi: 800 };

const [what, language = ""] = process.argv.slice(2);
const chunks: Buffer[] = [];
for await (const chunk of process.stdin) chunks.push(chunk as Buffer);
const input = Buffer.concat(chunks);

switch (what) {
  case "beeps":
    beep(input.toString("utf8"));
    break;
  case "hears":
    process.stdout.write(
      ` ${input.readUInt32LE(24)} Hz,\n${(input.length - 44) / 16} ms\tof ${language}\n`,
    );
    break;
  case "hangs":
    setInterval(() => {}, 60_000);
    break;
  case "babbles":
    babble();
    break;
  default:
    process.stdout.write("no sound");
}

function beep(text: string): void {
  const hz = pitches_hz[language];
  if (hz === undefined) throw new Error(`it does not know ${language}`);
  if (text.includes("die")) process.kill(process.pid, "SIGKILL");
  const file = toWav(tone(Array.from(text).length * letter_ms, { hz, rate_hz }));
  file.writeUInt32LE(rate_hz, 24);
  process.stdout.write(file);
}

function babble(): void {
  process.stdout.write(Buffer.alloc(1_000_000), (error) => {
    if (!error) babble();
  });
}
