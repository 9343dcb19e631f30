// Schemas of the fields of events.
import Type from "typebox";
import { nullable, timestamp } from "../lib/schemas.ts";

/** Describes a text. */
export const text = (description: string) => Type.String({ description });
/** Describes a text or null. */
export const maybe = (description: string) => nullable(text(description));
/** Describes a time or null. */
export const time = (description: string) => nullable(timestamp(description));
/** Describes a number of things. */
export const count = (description: string) => Type.Integer({ description });
/** Describes a duration in seconds, or null. */
export const seconds = (description: string) => nullable(Type.Integer({ description }));
/** Describes one of the words. */
export const word = <const Word extends string>(words: readonly Word[], description: string) =>
  Type.Enum(words, { type: "string", description });
