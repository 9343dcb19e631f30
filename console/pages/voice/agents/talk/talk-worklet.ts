// Runs in the browser's audio thread: makes the microphone's sound the talk's samples, and plays those of the agent.
// The server's format is 8 kHz, mono, 16 bits; the sound card has a rate of its own.

declare const sampleRate: number;
declare class AudioWorkletProcessor {
  readonly port: MessagePort;
}
declare function registerProcessor(name: string, processor: typeof AudioWorkletProcessor): void;

const talk_rate_hz = 8_000;
const chunk_samples = 160;
const full_scale = 0x7fff;

class TalkProcessor extends AudioWorkletProcessor {
  #chunk = new Int16Array(chunk_samples);
  #filled = 0;
  /** The sum of the input since the last sample, and how many there were. */
  #sum = 0;
  #count = 0;
  #due = 0;
  #queue: Int16Array[] = [];
  /** The place within the first of the queue. */
  #place = 0;

  constructor() {
    super();
    this.port.addEventListener("message", ({ data }: MessageEvent<Int16Array | "flush">) => {
      if (data === "flush") [this.#queue, this.#place] = [[], 0];
      else this.#queue.push(data);
    });
    this.port.start();
  }

  process([input]: Float32Array[][], [output]: Float32Array[][]): boolean {
    this.#capture(input?.[0] ?? new Float32Array(0));
    const [first, ...others] = output!;
    this.#play(first!);
    for (const channel of others) channel.set(first!);
    return true;
  }

  /** Averages what lies between two samples, so that high sounds do not come back as low ones. */
  #capture(input: Float32Array): void {
    for (const value of input) {
      this.#sum += value;
      this.#count += 1;
      this.#due += talk_rate_hz / sampleRate;
      if (this.#due < 1) continue;
      this.#due -= 1;
      const mean = Math.max(-1, Math.min(1, this.#sum / this.#count));
      this.#chunk[this.#filled++] = mean * full_scale;
      [this.#sum, this.#count] = [0, 0];
      if (this.#filled < chunk_samples) continue;
      // oxlint-disable-next-line require-post-message-target-origin -- A port has no origin; windows have.
      this.port.postMessage(this.#chunk);
      this.#chunk = new Int16Array(chunk_samples);
      this.#filled = 0;
    }
  }

  #play(output: Float32Array): void {
    for (let at = 0; at < output.length; at++) {
      while (this.#queue[0] && this.#place >= this.#queue[0].length) {
        this.#place -= this.#queue[0].length;
        this.#queue.shift();
      }
      const samples = this.#queue[0];
      if (!samples) this.#place = 0;
      output[at] = samples ? between(samples, this.#place) / full_scale : 0;
      this.#place += talk_rate_hz / sampleRate;
    }
  }
}

function between(samples: Int16Array, place: number): number {
  const left = samples[Math.floor(place)]!;
  const right = samples[Math.floor(place) + 1] ?? left;
  return left + (right - left) * (place % 1);
}

registerProcessor("talk", TalkProcessor);
