import { isWav } from "./wav.ts";

/** The format of an audio file; for Ogg, its codec. */
export type AudioKind = "wav" | "mp3" | "opus" | "vorbis";

/** How far after the start, or after its tags, the first frame of an MP3 file is searched. */
const search_bytes = 65_536;
/** Empty tags have ten bytes: those of a hostile file would block the process. */
const tags_max = 16;
/** Consecutive valid frame headers that identify an MP3 file. */
const consecutive_frames = 3;
const ogg_header_bytes = 4_096;

/** Recognizes the format by the content alone; null when it is not supported. */
export function sniffAudio(file: Buffer): AudioKind | null {
  if (isWav(file)) return "wav";
  if (file.toString("latin1", 0, 4) === "OggS") {
    const header = file.subarray(0, ogg_header_bytes);
    if (header.includes("OpusHead", 0, "latin1")) return "opus";
    return header.includes("\u0001vorbis", 0, "latin1") ? "vorbis" : null;
  }
  return hasMp3Frames(file) ? "mp3" : null;
}

function hasMp3Frames(file: Buffer): boolean {
  const start = endOfTags(file);
  const end = Math.min(start + search_bytes, file.length);
  for (let offset = file.indexOf(0xff, start); offset >= 0 && offset < end;) {
    if (framesFollow(file, offset)) return true;
    offset = file.indexOf(0xff, offset + 1);
  }
  return false;
}

/** Returns the offset after the ID3 tags, of which some files have more than one. */
function endOfTags(file: Buffer): number {
  let offset = 0;
  for (let tags = 0; tags < tags_max; tags++) {
    const isTag = file.toString("latin1", offset, offset + 3) === "ID3";
    if (!isTag || offset + 10 > file.length) break;
    const [a, b, c, d] = file.subarray(offset + 6, offset + 10);
    offset += 10 + (((a! & 0x7f) << 21) | ((b! & 0x7f) << 14) | ((c! & 0x7f) << 7) | (d! & 0x7f));
  }
  return offset;
}

function framesFollow(file: Buffer, start: number): boolean {
  let offset = start;
  for (let frame = 0; frame < consecutive_frames; frame++) {
    const length = frameLength(file, offset);
    if (length === null) return false;
    offset += length;
    // A very short file may end before that many frames.
    if (frame > 0 && offset >= file.length) return true;
  }
  return true;
}

const kilobits = {
  1: [32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320],
  2: [8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
} as const;
const rates_hz = [44_100, 48_000, 32_000] as const;

/** Returns the length in bytes of the layer III frame at `offset` (ISO/IEC 11172-3, 13818-3), or null. */
function frameLength(file: Buffer, offset: number): number | null {
  if (offset + 4 > file.length) return null;
  const header = file.readUInt32BE(offset);
  const version = (header >>> 19) & 3;
  const isLayer3 = header >>> 21 === 0x7ff && version !== 1 && ((header >>> 17) & 3) === 1;
  const kilobit = kilobits[version === 3 ? 1 : 2][((header >>> 12) & 15) - 1];
  const full_rate_hz = rates_hz[(header >>> 10) & 3];
  if (!isLayer3 || kilobit === undefined || full_rate_hz === undefined) return null;
  const rate_hz = full_rate_hz / { 3: 1, 2: 2, 0: 4 }[version as 0 | 2 | 3];
  const samples = version === 3 ? 1_152 : 576;
  return Math.floor((samples / 8) * ((kilobit * 1_000) / rate_hz)) + ((header >>> 9) & 1);
}
