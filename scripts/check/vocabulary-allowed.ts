// Where a retired word is the plain right word.

/** `where` is the beginning of a path, or a pattern of the line. */
export type AllowedUse = {
  readonly word: string;
  readonly where: string | RegExp;
  readonly why: string;
};

export const allowedUses: readonly AllowedUse[] = [];
