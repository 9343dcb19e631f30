// The G.711 codec (ITU-T): mu-law and A-law, one byte per sample.

const mu_bias = 132;
const mu_magnitude_max = 32_767 - mu_bias;

const mu_law_table = Int16Array.from({ length: 256 }, (_, byte) => {
  const code = ~byte & 0xff;
  const magnitude = (((code & 0x0f) << 3) + mu_bias) << ((code & 0x70) >> 4);
  return code & 0x80 ? mu_bias - magnitude : magnitude - mu_bias;
});

const a_law_table = Int16Array.from({ length: 256 }, (_, byte) => {
  const code = byte ^ 0x55;
  const segment = (code & 0x70) >> 4;
  const step = (code & 0x0f) << 4;
  const magnitude = segment === 0 ? step + 8 : (step + 0x108) << (segment - 1);
  return code & 0x80 ? magnitude : -magnitude;
});

/** Encodes signed 16-bit little-endian samples as mu-law; ignores an odd last byte. */
export function encodeMuLaw(samples: Buffer): Buffer {
  return encode(samples, (sample) => {
    const magnitude = Math.min(Math.abs(sample), mu_magnitude_max) + mu_bias;
    const segment = 24 - Math.clz32(magnitude);
    const code = (segment << 4) | ((magnitude >> (segment + 3)) & 0x0f);
    return ~(sample < 0 ? code | 0x80 : code) & 0xff;
  });
}

/** Encodes signed 16-bit little-endian samples as A-law; ignores an odd last byte. */
export function encodeALaw(samples: Buffer): Buffer {
  return encode(samples, (sample) => {
    const magnitude = (sample < 0 ? ~sample : sample) >> 3;
    const segment = 27 - Math.clz32(magnitude | 0x1f);
    const code = (segment << 4) | ((magnitude >> Math.max(1, segment)) & 0x0f);
    return code ^ (sample < 0 ? 0x55 : 0xd5);
  });
}

/** Decodes mu-law to signed 16-bit little-endian samples. */
export function decodeMuLaw(bytes: Buffer): Buffer {
  return decode(bytes, mu_law_table);
}

/** Decodes A-law to signed 16-bit little-endian samples. */
export function decodeALaw(bytes: Buffer): Buffer {
  return decode(bytes, a_law_table);
}

function encode(samples: Buffer, byteOf: (sample: number) => number): Buffer {
  const bytes = Buffer.alloc(samples.length >> 1);
  for (let index = 0; index < bytes.length; index++)
    bytes[index] = byteOf(samples.readInt16LE(index * 2));
  return bytes;
}

function decode(bytes: Buffer, linear: Int16Array): Buffer {
  const samples = Buffer.alloc(bytes.length * 2);
  for (let index = 0; index < bytes.length; index++)
    samples.writeInt16LE(linear[bytes[index]!]!, index * 2);
  return samples;
}
