import { useEffect, useRef, useState } from "react";

const bars = 160;
const dark = matchMedia("(prefers-color-scheme: dark)");

/** Plays audio and draws how loud it is; a click on the drawing plays from there. */
export function Waveform({ label, src }: { readonly label: string; readonly src: string }) {
  const audio = useRef<HTMLAudioElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const peaks = usePeaks(src);
  const [played, setPlayed] = useState(0);
  useEffect(() => {
    const redraw = () => canvas.current && peaks && draw(canvas.current, peaks, played);
    redraw();
    dark.addEventListener("change", redraw);
    return () => dark.removeEventListener("change", redraw);
  }, [peaks, played]);
  const seek = (share: number) => {
    const player = audio.current;
    if (!player || !Number.isFinite(player.duration)) return;
    player.currentTime = share * player.duration;
    void player.play();
  };
  return (
    <div className="flex flex-col gap-3">
      <canvas
        ref={canvas}
        aria-hidden
        width={bars * 4}
        height={96}
        className="text-accent bg-hover h-24 w-full cursor-pointer rounded-lg"
        onClick={({ currentTarget, clientX }) => {
          const { left, width } = currentTarget.getBoundingClientRect();
          seek((clientX - left) / width);
        }}
      />
      <audio
        ref={audio}
        controls
        aria-label={label}
        src={src}
        className="w-full"
        onTimeUpdate={({ currentTarget: { currentTime, duration } }) =>
          setPlayed(duration > 0 ? currentTime / duration : 0)
        }
      />
    </div>
  );
}

/** Reads how loud each part of the audio is, 0 to 1; null until it is known. */
function usePeaks(src: string): readonly number[] | null {
  const [peaks, setPeaks] = useState<readonly number[] | null>(null);
  useEffect(() => {
    const leaving = new AbortController();
    void peaksOf(src, leaving.signal).then(setPeaks, () => {
      // The player beside it says what is wrong.
    });
    return () => leaving.abort();
  }, [src]);
  return peaks;
}

async function peaksOf(src: string, signal: AbortSignal): Promise<readonly number[]> {
  const answer = await fetch(src, { signal });
  const context = new OfflineAudioContext(1, 1, 8_000);
  const decoded = await context.decodeAudioData(await answer.arrayBuffer());
  const samples = decoded.getChannelData(0);
  const length = Math.ceil(samples.length / bars);
  const loudest = Array.from({ length: bars }, (_, bar) =>
    samples
      .subarray(bar * length, (bar + 1) * length)
      .reduce((most, sample) => Math.max(most, Math.abs(sample)), 0),
  );
  const top = Math.max(0.01, ...loudest);
  return loudest.map((peak) => peak / top);
}

/** Draws in the element's own color, so that it follows the color scheme; what was played is stronger. */
function draw(canvas: HTMLCanvasElement, peaks: readonly number[], played: number): void {
  const context = canvas.getContext("2d")!;
  const { width, height } = canvas;
  context.clearRect(0, 0, width, height);
  context.fillStyle = getComputedStyle(canvas).color;
  const step = width / peaks.length;
  for (const [at, peak] of peaks.entries()) {
    context.globalAlpha = at / peaks.length < played ? 1 : 0.45;
    const bar = Math.max(2, peak * (height - 8));
    context.fillRect(at * step + 1, (height - bar) / 2, step - 2, bar);
  }
}
