// A far end whose audio the test receives and sends: sipp handles the signalling (`scripted` in
// sipp/outcomes.ts), RTP comes to a socket of this process.
import { createSocket, type Socket } from "node:dgram";
import { once } from "node:events";
import { decodeMuLaw, encodeMuLaw } from "../../server/lib/audio/g711.ts";
import { far_end } from "./sipp/outcomes.ts";
import { loudnessOf, pitchOf } from "./tones.ts";

export type ScriptedPhone = {
  /** The number to dial; calls to it are answered at once. */
  readonly number: string;
  /** The duration of the received sound, in ms; with `hz` (a multiple of 100), of that tone only. */
  received_ms(hz?: number): number;
  /** The number of received audio packets, including silence. */
  packets(): number;
  /** The received tones of at least 60 ms in order, each rounded to 100 Hz. */
  tones(): number[];
  /** Queues audio; resolves when it was sent or the call has ended; needs a call with incoming audio. */
  say(samples: Buffer): Promise<void>;
  /** Presses a key, as RTP events (RFC 4733), queued after earlier audio. */
  press(digit: string): Promise<void>;
  close(): Promise<void>;
};

const frame_ms = 20;
const frame_samples = 160;
const header_bytes = 12;
const loud = 500;
const frames_min = 3;
const payload_types = { audio: 0, event: 101 } as const;
const keys = "0123456789*#";
const silence = Buffer.alloc(frame_samples, 0xff);

/** A packet to send; `ago_frames`: an event's packets have the timestamp of its first. */
type Packet = {
  readonly type: number;
  readonly payload: Buffer;
  readonly marked: boolean;
  readonly ago_frames: number;
  readonly sent: () => void;
};

/**
 * Opens a phone on a free port, for one call. It sends nothing once the other side has closed its port: the audio
 * would reach the next call on that port, and Asterisk would send that call's audio here.
 */
export async function openScriptedPhone(): Promise<ScriptedPhone> {
  const socket = createSocket("udp4");
  socket.bind(0, "127.0.0.1");
  await once(socket, "listening");
  const pitches: (number | null)[] = [];
  const waiting: Packet[] = [];
  const ended = new AbortController();
  let sending: NodeJS.Timeout | undefined;
  socket.on("error", (error) => {
    if ((error as NodeJS.ErrnoException).code !== "ECONNREFUSED") throw error;
    ended.abort();
  });
  let isConnected = false;
  socket.on("message", (packet, { port, address }) => {
    // Not audio, for example: the RTCP of a call to the port below.
    if ((packet[1]! & 0x7f) !== payload_types.audio) return;
    // A connected socket reports a closed port.
    if (!isConnected)
      socket.connect(port, address, () => {
        sending = sendPackets(socket, port, waiting, ended.signal);
      });
    isConnected = true;
    const samples = decodeMuLaw(packet.subarray(header_bytes));
    pitches.push(loudnessOf(samples) < loud ? null : Math.round(pitchOf(samples) / 100) * 100);
  });
  const enqueue = (packets: readonly Omit<Packet, "sent">[]) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    for (const packet of packets)
      waiting.push({ ...packet, sent: packet === packets.at(-1) ? resolve : () => {} });
    return promise;
  };
  return {
    number: `${far_end.scripted}${socket.address().port}`.padEnd(10, "0"),
    received_ms(hz) {
      const matching = pitches.filter((pitch) => pitch !== null && (pitch === hz || !hz));
      return matching.length * frame_ms;
    },
    packets: () => pitches.length,
    tones: () => tonesOf(pitches),
    say: (samples) => enqueue(audioPackets(encodeMuLaw(samples))),
    press: (digit) => enqueue(eventPackets(keys.indexOf(digit))),
    async close() {
      clearInterval(sending);
      socket.close();
      await once(socket, "close");
    },
  };
}

function tonesOf(pitches: readonly (number | null)[]): number[] {
  const tones: number[] = [];
  let run: number[] = [];
  for (const pitch of pitches) {
    if (pitch === null) continue;
    run = run[0] === pitch ? [...run, pitch] : [pitch];
    if (run.length === frames_min && tones.at(-1) !== pitch) tones.push(pitch);
  }
  return tones;
}

function audioPackets(audio: Buffer): Omit<Packet, "sent">[] {
  return Array.from({ length: Math.ceil(audio.length / frame_samples) }, (_, i) => {
    const payload = audio.subarray(i * frame_samples, (i + 1) * frame_samples);
    return { type: payload_types.audio, payload, marked: false, ago_frames: 0 };
  });
}

/** A tone of 100 ms; its end packet is sent three times, as RFC 4733 requires. */
function eventPackets(event: number): Omit<Packet, "sent">[] {
  return [1, 2, 3, 4, 5, 5, 5, 5].map((frames, i) => {
    const payload = Buffer.alloc(4);
    payload.writeUInt8(event, 0);
    payload.writeUInt8((i >= 5 ? 0x80 : 0) | 10, 1);
    payload.writeUInt16BE(frames * frame_samples, 2);
    return { type: payload_types.event, payload, marked: i === 0, ago_frames: i };
  });
}

/** Sends a packet every 20 ms: queued audio, otherwise silence. Discards packets once the call has ended. */
function sendPackets(
  socket: Socket,
  source: number,
  waiting: Packet[],
  ended: AbortSignal,
): NodeJS.Timeout {
  const began_ms = performance.now();
  let frames = 0;
  return setInterval(() => {
    // Catches up after a pause of this process.
    while (frames * frame_ms <= performance.now() - began_ms) {
      const next = waiting.shift();
      const { type, payload, marked, ago_frames } = next ?? {
        type: payload_types.audio,
        payload: silence,
        marked: false,
        ago_frames: 0,
      };
      const header = Buffer.alloc(header_bytes);
      header.writeUInt8(0x80, 0);
      header.writeUInt8((marked ? 0x80 : 0) | type, 1);
      header.writeUInt16BE(frames % 0x1_0000, 2);
      header.writeUInt32BE((frames - ago_frames) * frame_samples, 4);
      header.writeUInt32BE(source, 8);
      if (!ended.aborted) socket.send(Buffer.concat([header, payload]));
      next?.sent();
      frames += 1;
    }
  }, frame_ms);
}
