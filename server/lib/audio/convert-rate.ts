// Another sample rate by a windowed sinc: below 0.85 of the lower rate's half all passes, above its half
// next to nothing (-60 dB), so that nothing is mirrored into what is heard.

/** Changes the sample rate of a sound that comes in pieces; how it is cut does not matter. */
export type RateConverter = {
  /** What can be told of the output by now: it runs 32 samples of the lower rate behind. */
  push(samples: Float32Array): Float32Array;
  /** What is still owed; nothing may be pushed any more. */
  rest(): Float32Array;
};

/** Of the lower rate, to each side of the sample that is made. */
const zero_crossings = 32;
/** Of half the lower rate: the middle of the slope. */
const cutoff = 0.925;
const kaiser_beta = 6.5;
/** Rates with no common divisor take the nearest of so many fractions of a sample. */
const phases_max = 512;

/** Both in whole Hz. The output is as long as the input, to the sample. */
export function openRateConverter(from_hz: number, to_hz: number): RateConverter {
  if (from_hz === to_hz) return { push: (samples) => samples, rest: () => new Float32Array(0) };
  const divisor = greatestCommonDivisor(from_hz, to_hz);
  const [step, scale] = [from_hz / divisor, to_hz / divisor];
  const half = Math.ceil(zero_crossings * Math.max(1, from_hz / to_hz));
  const phases = Math.min(scale, phases_max);
  const filters = makeFilters(phases, half, cutoff * Math.min(1, to_hz / from_hz));

  // What is still needed: it begins `half - 1` samples before the one at `at`.
  let held = new Float32Array(half - 1);
  let at = 0;
  let fraction = 0;

  const convert = (samples: Float32Array, until: number): Float32Array => {
    const sound = new Float32Array(held.length + samples.length);
    sound.set(held);
    sound.set(samples, held.length);
    const ready = Math.max(0, until - at);
    const made = new Float32Array(Math.max(0, Math.ceil((ready * scale - fraction) / step)));
    let first = 0;
    for (let index = 0; index < made.length; index++) {
      const filter = filters[Math.round((fraction * phases) / scale)]!;
      let sum = 0;
      for (let tap = 0; tap < filter.length; tap++) sum += filter[tap]! * sound[first + tap]!;
      made[index] = sum;
      fraction += step;
      first += Math.floor(fraction / scale);
      fraction %= scale;
    }
    at += first;
    held = sound.slice(first);
    return made;
  };
  let taken = 0;
  return {
    push(samples) {
      taken += samples.length;
      return convert(samples, taken - half);
    },
    rest: () => convert(new Float32Array(half), taken),
  };
}

/** One filter per fraction of a sample, 0 and 1 included; `width` is the pass band's share of the input's. */
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

/** The modified Bessel function of order 0, by its power series. */
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
