// Ogg Opus (RFC 7845): the first Opus stream of a file, decoded at the sample rate of calls.
import { OpusDecoder } from "opus-decoder";
import { AudioError } from "./audio-error.ts";
import { sample_rate_hz } from "./audio.ts";
import type { SampleCollector } from "./collect-samples.ts";
import { oggPackets } from "./ogg-packets.ts";

type OpusHead = {
  readonly channels: number;
  /** Samples at 48 kHz to discard at the start. */
  readonly pre_skip: number;
  readonly gain: number;
  readonly streamCount: number;
  readonly coupledStreamCount: number;
  readonly channelMappingTable: number[];
};

const channels_max = 8;
/** The decoder's buffer per channel: 120 ms at 256 kbit/s. */
const packet_bytes_max = 3_840;

/** Decodes an Ogg Opus file; skips damaged packets. Throws AudioError. */
export async function decodeOpus(file: Buffer, collector: SampleCollector): Promise<void> {
  const packets = oggPackets(file);
  let first = packets.next();
  while (!first.done && !startsWith(first.value.bytes, "OpusHead")) first = packets.next();
  if (first.done) return;
  const { serial } = first.value;
  const { channels, pre_skip, gain, ...streams } = readHead(first.value.bytes);
  const decoder = new OpusDecoder({ sampleRate: sample_rate_hz, channels, ...streams });
  await decoder.ready;
  let skip = Math.round((pre_skip * sample_rate_hz) / 48_000);
  for (const packet of packets) {
    if (packet.serial !== serial || startsWith(packet.bytes, "OpusTags")) continue;
    if (packet.bytes.length > packet_bytes_max * channels) continue;
    const { channelData, samplesDecoded } = decoder.decodeFrame(packet.bytes);
    const skipped = Math.min(skip, samplesDecoded);
    skip -= skipped;
    collector.push(
      channelData.map((channel) => channel.subarray(skipped).map((value) => value * gain)),
      sample_rate_hz,
    );
  }
}

function startsWith(bytes: Buffer, magic: string): boolean {
  return bytes.toString("latin1", 0, magic.length) === magic;
}

function readHead(bytes: Buffer): OpusHead {
  if (bytes.length < 19) throw damaged();
  const channels = bytes[9]!;
  if (channels < 1 || channels > channels_max)
    throw new AudioError(`the audio must have 1-${channels_max} channels, not ${channels}`);
  const common = {
    channels,
    pre_skip: bytes.readUInt16LE(10),
    gain: 10 ** (bytes.readInt16LE(16) / 256 / 20),
  };
  const isPlain = bytes[18] === 0;
  if (isPlain && channels > 2) throw damaged();
  const coupled = channels - 1;
  const mapping = [0, 1].slice(0, channels);
  if (isPlain)
    return { ...common, streamCount: 1, coupledStreamCount: coupled, channelMappingTable: mapping };
  if (bytes.length < 21 + channels) throw damaged();
  const [streamCount, coupledStreamCount] = [bytes[19]!, bytes[20]!];
  const channelMappingTable = [...bytes.subarray(21, 21 + channels)];
  const decoded = streamCount + coupledStreamCount;
  const isValid = channelMappingTable.every((source) => source < decoded || source === 255);
  if (streamCount < 1 || coupledStreamCount > streamCount || decoded > channels || !isValid)
    throw damaged();
  return { ...common, streamCount, coupledStreamCount, channelMappingTable };
}

function damaged(): AudioError {
  return new AudioError("the header of the Ogg file is damaged");
}
