// G.711 (ITU-T): one byte a sample, as phone lines carry it.

const mu_bias = 132;
const mu_loudest = 32_767 - mu_bias;

const linearOfMu = Int16Array.from({ length: 256 }, (_, byte) => {
  const code = ~byte & 0xff;
  const loudness = (((code & 0x0f) << 3) + mu_bias) << ((code & 0x70) >> 4);
  return code & 0x80 ? mu_bias - loudness : loudness - mu_bias;
});

const linearOfA = Int16Array.from({ length: 256 }, (_, byte) => {
  const code = byte ^ 0x55;
  const segment = (code & 0x70) >> 4;
  const step = (code & 0x0f) << 4;
  const loudness = segment === 0 ? step + 8 : (step + 0x108) << (segment - 1);
  return code & 0x80 ? loudness : -loudness;
});

/** Of signed 16-bit little-endian samples; an odd last byte is left out. */
export function encodeMuLaw(samples: Buffer): Buffer {
  return encode(samples, (sample) => {
    const loudness = Math.min(Math.abs(sample), mu_loudest) + mu_bias;
    const segment = 24 - Math.clz32(loudness);
    const code = (segment << 4) | ((loudness >> (segment + 3)) & 0x0f);
    return ~(sample < 0 ? code | 0x80 : code) & 0xff;
  });
}

/** Of signed 16-bit little-endian samples; an odd last byte is left out. */
export function encodeALaw(samples: Buffer): Buffer {
  return encode(samples, (sample) => {
    const loudness = (sample < 0 ? ~sample : sample) >> 3;
    const segment = 27 - Math.clz32(loudness | 0x1f);
    const code = (segment << 4) | ((loudness >> Math.max(1, segment)) & 0x0f);
    return code ^ (sample < 0 ? 0x55 : 0xd5);
  });
}

/** To signed 16-bit little-endian samples. */
export function decodeMuLaw(bytes: Buffer): Buffer {
  return decode(bytes, linearOfMu);
}

/** To signed 16-bit little-endian samples. */
export function decodeALaw(bytes: Buffer): Buffer {
  return decode(bytes, linearOfA);
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
