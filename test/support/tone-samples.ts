/** A tone of 1 at its loudest, as signed 16-bit samples. */
export function tone(hz: number, rate_hz: number, length: number, loudness = 0.5): Buffer {
  const samples = Buffer.alloc(length * 2);
  for (let index = 0; index < length; index++) {
    const value = loudness * Math.sin((2 * Math.PI * hz * index) / rate_hz);
    samples.writeInt16LE(Math.round(value * 32_767), index * 2);
  }
  return samples;
}

/** How loud signed 16-bit samples are: their root mean square, 1 being the loudest. */
export function loudnessOf(samples: Buffer): number {
  const values = valuesOf(samples);
  return Math.sqrt(values.reduce((sum, value) => sum + value * value, 0) / values.length);
}

/** Which share of the power of signed 16-bit samples is one tone. */
export function shareOfTone(samples: Buffer, hz: number, rate_hz: number): number {
  const values = valuesOf(samples);
  let [real, imaginary, power] = [0, 0, 0];
  for (const [index, value] of values.entries()) {
    const angle = (2 * Math.PI * hz * index) / rate_hz;
    real += value * Math.cos(angle);
    imaginary += value * Math.sin(angle);
    power += value * value;
  }
  return (2 * (real * real + imaginary * imaginary)) / values.length / power;
}

function valuesOf(samples: Buffer): number[] {
  return Array.from(
    { length: samples.length / 2 },
    (_, index) => samples.readInt16LE(index * 2) / 32_768,
  );
}
