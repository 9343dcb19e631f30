// Sample rate conversion with a windowed sinc filter. It passes frequencies below 0.85 of the lower rate's
// Nyquist frequency and attenuates those above it by 60 dB, which prevents aliasing.

/** Converts the sample rate of audio in pieces; the output does not depend on the cuts. */
export type RateConverter = {
  /** Returns the output so far, which lags 32 samples of the lower rate. */
  push(samples: Float32Array): Float32Array;
  /** Returns the remaining output; `push` must not be called afterwards. */
  flush(): Float32Array;
};

/** The half width of the filter, in samples of the lower rate. */
const zero_crossings = 32;
/** The middle of the transition band, as a share of the lower rate's Nyquist frequency. */
const cutoff = 0.925;
const kaiser_beta = 6.5;
/** The maximum of filter phases; rates without a common divisor use the nearest one. */
const phases_max = 512;

/** Opens a converter between rates in whole Hz. The output has the length of the input, to the sample. */
export function openRateConverter(from_hz: number, to_hz: number): RateConverter {
  if (from_hz === to_hz) return { push: (samples) => samples, flush: () => new Float32Array(0) };
  const divisor = greatestCommonDivisor(from_hz, to_hz);
  const [step, scale] = [from_hz / divisor, to_hz / divisor];
  const half = Math.ceil(zero_crossings * Math.max(1, from_hz / to_hz));
  const phases = Math.min(scale, phases_max);
  const filters = makeFilters(phases, half, cutoff * Math.min(1, to_hz / from_hz));

  // The input that is still needed, from `half - 1` samples before position `at`.
  let held = new Float32Array(half - 1);
  let at = 0;
  let fraction = 0;

  const convert = (samples: Float32Array, until: number): Float32Array => {
    const input = new Float32Array(held.length + samples.length);
    input.set(held);
    input.set(samples, held.length);
    const ready = Math.max(0, until - at);
    const output = new Float32Array(Math.max(0, Math.ceil((ready * scale - fraction) / step)));
    let first = 0;
    for (let index = 0; index < output.length; index++) {
      const filter = filters[Math.round((fraction * phases) / scale)]!;
      let sum = 0;
      for (let tap = 0; tap < filter.length; tap++) sum += filter[tap]! * input[first + tap]!;
      output[index] = sum;
      fraction += step;
      first += Math.floor(fraction / scale);
      fraction %= scale;
    }
    at += first;
    held = input.slice(first);
    return output;
  };
  let taken = 0;
  return {
    push(samples) {
      taken += samples.length;
      return convert(samples, taken - half);
    },
    flush: () => convert(new Float32Array(half), taken),
  };
}

/** Returns a filter per phase, 0 and 1 included; `width`: the cutoff as a share of the input's Nyquist frequency. */
function makeFilters(phases: number, half: number, width: number): Float32Array[] {
  return Array.from({ length: phases + 1 }, (_, phase) => {
    const filter = Float32Array.from({ length: half * 2 }, (__, tap) => {
      const distance = phase / phases + half - 1 - tap;
      return width * sinc(width * distance) * kaiser(distance / half);
    });
    const sum = filter.reduce((total, weight) => total + weight, 0);
    return filter.map((weight) => weight / sum);
  });
}

function sinc(x: number): number {
  return x === 0 ? 1 : Math.sin(Math.PI * x) / (Math.PI * x);
}

function kaiser(x: number): number {
  return Math.abs(x) >= 1 ? 0 : bessel(kaiser_beta * Math.sqrt(1 - x * x)) / bessel(kaiser_beta);
}

/** The modified Bessel function of the first kind of order 0, by its power series. */
function bessel(x: number): number {
  let [sum, term] = [1, 1];
  for (let n = 1; term > sum * 1e-9; n++) {
    term *= (x / (2 * n)) ** 2;
    sum += term;
  }
  return sum;
}

function greatestCommonDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestCommonDivisor(b, a % b);
}
