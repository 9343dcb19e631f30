// Ogg Opus (RFC 7845): the first Opus stream of a file, decoded at the rate of calls.
import { OpusDecoder } from "opus-decoder";
import { AudioRefused } from "./audio-refused.ts";
import { sample_rate_hz } from "./audio.ts";
import type { SampleGatherer } from "./gather-samples.ts";
import { oggPackets } from "./ogg-packets.ts";

type OpusHead = {
  readonly channels: number;
  /** The beginning that is not meant to be heard, in samples of 48 kHz. */
  readonly pre_skip: number;
  readonly loudness: number;
  readonly streamCount: number;
  readonly coupledStreamCount: number;
  readonly channelMappingTable: number[];
};

const channels_max = 8;
/** What the decoder has room for: 256 kbit/s of 120 ms, per channel. */
const packet_bytes_max = 3_840;

/** Reads a file of the kind `opus`; throws AudioRefused. Packets that are damaged are left out. */
export async function decodeOpus(file: Buffer, sound: SampleGatherer): Promise<void> {
  const packets = oggPackets(file);
  let first = packets.next();
  while (!first.done && !beginsWith(first.value.bytes, "OpusHead")) first = packets.next();
  if (first.done) return;
  const { serial } = first.value;
  const { channels, pre_skip, loudness, ...streams } = readHead(first.value.bytes);
  const decoder = new OpusDecoder({ sampleRate: sample_rate_hz, channels, ...streams });
  await decoder.ready;
  let skip = Math.round((pre_skip * sample_rate_hz) / 48_000);
  for (const packet of packets) {
    if (packet.serial !== serial || beginsWith(packet.bytes, "OpusTags")) continue;
    if (packet.bytes.length > packet_bytes_max * channels) continue;
    const { channelData, samplesDecoded } = decoder.decodeFrame(packet.bytes);
    const skipped = Math.min(skip, samplesDecoded);
    skip -= skipped;
    sound.push(
      channelData.map((channel) => channel.subarray(skipped).map((value) => value * loudness)),
      sample_rate_hz,
    );
  }
}

function beginsWith(bytes: Buffer, magic: string): boolean {
  return bytes.toString("latin1", 0, magic.length) === magic;
}

function readHead(bytes: Buffer): OpusHead {
  if (bytes.length < 19) throw damaged();
  const channels = bytes[9]!;
  if (channels < 1 || channels > channels_max)
    throw new AudioRefused(`it has ${channels} channels; 1-${channels_max} can be taken`);
  const common = {
    channels,
    pre_skip: bytes.readUInt16LE(10),
    loudness: 10 ** (bytes.readInt16LE(16) / 256 / 20),
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
  const isSound = channelMappingTable.every((source) => source < decoded || source === 255);
  if (streamCount < 1 || coupledStreamCount > streamCount || decoded > channels || !isSound)
    throw damaged();
  return { ...common, streamCount, coupledStreamCount, channelMappingTable };
}

function damaged(): AudioRefused {
  return new AudioRefused("it is an Ogg file whose beginning is damaged");
}
