import Type from "typebox";

/** How much an account stores, and its quota. */
export const storage = Type.Object({
  used_bytes: Type.Integer({
    description: "Bytes of audio, of uploads that are not decoded yet and of files being imported",
  }),
  megabytes_max: Type.Integer({
    description: "The storage quota in units of 1,000,000 bytes. Read only: an operator changes it",
  }),
});
