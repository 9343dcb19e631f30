// Finds a leg's CDR in Asterisk's CSV file (asterisk/etc/cdr_custom.conf). The file only grows, so it is read
// from its end.
import { open, type FileHandle } from "node:fs/promises";
import type { LegRecord } from "../driver.ts";
import { classifyEnding } from "./classify-ending.ts";

const chunk_bytes = 262_144;
/** About 200,000 records; the leg ended a short time ago. */
const read_bytes_max = 33_554_432;

/** See VoiceSession.findCdr. Searches the last 32 MB of the file. */
export async function findCdr(
  cdr_path: string | null,
  channel_id: string,
): Promise<LegRecord | null | "unreadable"> {
  if (cdr_path === null) return "unreadable";
  let file: FileHandle;
  try {
    file = await open(cdr_path);
  } catch {
    return "unreadable";
  }
  try {
    return readCdr(await findLine(file, `"${channel_id}",`));
  } catch {
    return "unreadable";
  } finally {
    await file.close();
  }
}

/** Returns the last line with this prefix. */
async function findLine(file: FileHandle, prefix: string): Promise<string | null> {
  const { size } = await file.stat();
  const stop = Math.max(0, size - read_bytes_max);
  // The start of the previous chunk: the rest of a line that begins in this one.
  let rest = Buffer.alloc(0);
  for (let end = size; end > stop; end -= chunk_bytes) {
    const start = Math.max(stop, end - chunk_bytes);
    const chunk = Buffer.alloc(end - start);
    const { bytesRead } = await file.read(chunk, 0, chunk.length, start);
    const text = Buffer.concat([chunk.subarray(0, bytesRead), rest]);
    const at = findLineStart(text, prefix, start === 0);
    if (at !== -1) return lineAt(text, at);
    const first_end = text.indexOf("\n");
    rest = first_end === -1 ? text : text.subarray(0, first_end + 1);
  }
  return null;
}

/** Returns the offset of the last line with this prefix, or -1. */
function findLineStart(text: Buffer, prefix: string, isFileStart: boolean): number {
  const found = text.lastIndexOf(`\n${prefix}`);
  if (found !== -1) return found + 1;
  return isFileStart && text.toString("utf8", 0, prefix.length) === prefix ? 0 : -1;
}

/** Returns null while the line is still being written. */
function lineAt(text: Buffer, start: number): string | null {
  const end = text.indexOf("\n", start);
  return end === -1 ? null : text.toString("utf8", start, end);
}

const line_pattern =
  /^"[^"]*",(?<start>[\d.]+),(?<answer>[\d.]+),(?<end>[\d.]+),[\d.]*,"[^"]*","(?<cause>\d*)","(?:SIP (?<status>\d{3}))?/;

function readCdr(line: string | null): LegRecord | null {
  const found = line === null ? undefined : line_pattern.exec(line)?.groups;
  if (!found) return null;
  const [start = 0, answer = 0, end = 0] = [found["start"], found["answer"], found["end"]].map(
    (seconds) => Math.round(Number(seconds) * 1_000),
  );
  const cause = Number(found["cause"]);
  // The last SIP response of the far end; 0 when it sent none.
  const status = Number(found["status"] ?? 0);
  const isSilent = status <= 100;
  const answered = answer > 0;
  const ending = classifyEnding({
    cause,
    tech_cause: status >= 300 ? status : isSilent && cause === 18 ? 408 : null,
    answered,
    request: hangupRequest(status, cause, answered),
    we_hung_up: false,
    silent_ms: isSilent ? end - start : null,
  });
  return { answered_at: answered ? new Date(answer) : null, ended_at: new Date(end), ending };
}

/** A far end answers Trunkline's own cancellation with 487. */
function hangupRequest(
  status: number,
  cause: number,
  answered: boolean,
): "none" | "far_end" | "us" {
  if (status >= 300 && status !== 487) return "far_end";
  return !answered && cause === 16 ? "us" : "none";
}
