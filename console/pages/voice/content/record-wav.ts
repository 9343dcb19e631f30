// Records from the microphone. The API reads no WebM, which browsers record, so the recording is made a WAV.

const rate_hz = 16_000;
const slice_ms = 200;

export type Recording = {
  /** Ends the recording and returns it. */
  readonly stop: () => Promise<File>;
  /** Ends the recording and drops it. */
  readonly discard: () => void;
};

/**
 * Begins to record; resolves once sound arrives, since a microphone needs a moment. Throws if the browser has none, or
 * the person does not allow it.
 */
export async function beginRecording(): Promise<Recording> {
  const stream = await navigator.mediaDevices.getUserMedia({ audio: true });
  const release = () => {
    for (const track of stream.getTracks()) track.stop();
  };
  try {
    return await record(stream, release);
  } catch (error) {
    release();
    throw error;
  }
}

async function record(stream: MediaStream, release: () => void): Promise<Recording> {
  const recorder = new MediaRecorder(stream);
  const parts: Blob[] = [];
  const arrived = Promise.withResolvers<void>();
  recorder.addEventListener("dataavailable", ({ data }) => {
    parts.push(data);
    if (data.size > 0) arrived.resolve();
  });
  recorder.addEventListener("error", arrived.reject);
  // It also stops by itself, when the microphone is unplugged.
  const ended = Promise.withResolvers<unknown>();
  recorder.addEventListener("stop", ended.resolve);
  recorder.addEventListener("stop", arrived.reject);
  recorder.start(slice_ms);
  await arrived.promise;
  return {
    async stop() {
      if (recorder.state !== "inactive") recorder.stop();
      await ended.promise;
      release();
      return wavOf(new Blob(parts, { type: recorder.mimeType }));
    },
    discard: release,
  };
}

async function wavOf(recorded: Blob): Promise<File> {
  const context = new OfflineAudioContext(1, 1, rate_hz);
  const decoded = await context.decodeAudioData(await recorded.arrayBuffer());
  const samples = decoded.getChannelData(0);
  const wav = new DataView(new ArrayBuffer(44 + samples.length * 2));
  const text = (at: number, ascii: string) => {
    for (let i = 0; i < ascii.length; i++) wav.setUint8(at + i, ascii.charCodeAt(i));
  };
  text(0, "RIFF");
  wav.setUint32(4, 36 + samples.length * 2, true);
  text(8, "WAVEfmt ");
  wav.setUint32(16, 16, true);
  wav.setUint16(20, 1, true);
  wav.setUint16(22, 1, true);
  wav.setUint32(24, rate_hz, true);
  wav.setUint32(28, rate_hz * 2, true);
  wav.setUint16(32, 2, true);
  wav.setUint16(34, 16, true);
  text(36, "data");
  wav.setUint32(40, samples.length * 2, true);
  for (const [i, sample] of samples.entries())
    wav.setInt16(44 + i * 2, Math.max(-1, Math.min(1, sample)) * 0x7fff, true);
  return new File([wav.buffer], "recording.wav", { type: "audio/wav" });
}
