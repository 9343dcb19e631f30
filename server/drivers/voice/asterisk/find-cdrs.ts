// Finds CDRs of legs in Asterisk's CSV file (asterisk/etc/cdr_custom.conf). The file only grows, so it is read
// from its end.
import { open, type FileHandle } from "node:fs/promises";
import type { LegRecord } from "../driver.ts";
import { classifyEnding } from "./classify-ending.ts";

const chunk_bytes = 262_144;
/** About 200,000 records; the leg ended a short time ago. */
const read_bytes_max = 33_554_432;

/** See VoiceSession.findCdrs; by channel IDs. Reads at most the last 32 MB of the file, once. */
export async function findCdrs(
  cdr_path: string | null,
  channel_ids: readonly string[],
): Promise<ReadonlyMap<string, LegRecord> | "unreadable"> {
  if (cdr_path === null) return "unreadable";
  let file: FileHandle;
  try {
    file = await open(cdr_path);
  } catch {
    return "unreadable";
  }
  try {
    return await searchBackwards(file, new Set(channel_ids));
  } catch {
    return "unreadable";
  } finally {
    await file.close();
  }
}

/** Returns the last CDR of each channel; removes the channels it finds from `wanted`. */
async function searchBackwards(
  file: FileHandle,
  wanted: Set<string>,
): Promise<Map<string, LegRecord>> {
  const records = new Map<string, LegRecord>();
  const { size } = await file.stat();
  const stop = Math.max(0, size - read_bytes_max);
  // The start of the previous chunk: the rest of a line that begins in this one.
  let rest = Buffer.alloc(0);
  for (let end = size; end > stop && wanted.size > 0; end -= chunk_bytes) {
    const start = Math.max(stop, end - chunk_bytes);
    const chunk = Buffer.alloc(end - start);
    const { bytesRead } = await file.read(chunk, 0, chunk.length, start);
    const text = Buffer.concat([chunk.subarray(0, bytesRead), rest]);
    const first_end = text.indexOf("\n");
    const lines_from = start === 0 ? 0 : first_end + 1;
    for (const line of linesBackwards(text.toString("utf8", lines_from))) {
      const id = line.slice(1, line.indexOf('",'));
      if (!wanted.delete(id)) continue;
      const record = readCdr(line);
      if (record) records.set(id, record);
    }
    rest = first_end === -1 ? text : text.subarray(0, lines_from);
  }
  return records;
}

/** Yields the complete lines, the last first; one that is still being written is not complete. */
function* linesBackwards(text: string): Generator<string> {
  let end = text.lastIndexOf("\n");
  while (end >= 0) {
    const before = end === 0 ? -1 : text.lastIndexOf("\n", end - 1);
    yield text.slice(before + 1, end);
    end = before;
  }
}

const line_pattern =
  /^"[^"]*",(?<start>[\d.]+),(?<answer>[\d.]+),(?<end>[\d.]+),[\d.]*,"[^"]*","(?<cause>\d*)","(?:SIP (?<status>\d{3}))?/;

function readCdr(line: string): LegRecord | null {
  const found = line_pattern.exec(line)?.groups;
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
