// How the parameters of a page's address are written: a number like a number, also where the page reads a text.
import { parseSearchWith, stringifySearchWith } from "@tanstack/react-router";

const digits = /^\d+$/;

/** Reads the parameters of an address, also of earlier versions, which quoted texts of digits. */
export const parseSearch = parseSearchWith((text) =>
  // A number that JavaScript cannot hold exactly stays a text.
  digits.test(text) && !Number.isSafeInteger(Number(text)) ? text : (JSON.parse(text) as unknown),
);

/** Writes parameters. Quotes only texts that would be read as something else; pages read digits as a text or a number. */
export const stringifySearch = stringifySearchWith(JSON.stringify, (text) => {
  if (digits.test(text)) throw new Error("needs no quotes");
  return JSON.parse(text) as unknown;
});
