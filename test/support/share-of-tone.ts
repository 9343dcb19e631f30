/** Returns the share of one tone in the power of signed 16-bit samples. */
export function shareOfTone(samples: Buffer, hz: number, rate_hz: number): number {
  const values = Array.from({ length: samples.length / 2 }, (_, index) =>
    samples.readInt16LE(index * 2),
  );
  let [real, imaginary, power] = [0, 0, 0];
  for (const [index, value] of values.entries()) {
    const angle = (2 * Math.PI * hz * index) / rate_hz;
    real += value * Math.cos(angle);
    imaginary += value * Math.sin(angle);
    power += value * value;
  }
  return (2 * (real * real + imaginary * imaginary)) / values.length / power;
}
