/** What a page shows: a lead by `id`, a call, a campaign, or a person by a phone number in any spelling. */
export type Subject = {
  readonly id?: number;
  readonly call_id?: number;
  readonly campaign_id?: number;
  readonly phone?: string;
};

/** Returns whether an event is about the subject; also if its data does not say. */
export function isAbout(
  data: Readonly<Record<string, unknown>>,
  { phone, ...ids }: Subject,
): boolean {
  const isOther = Object.entries(ids).some(([field, id]) => field in data && data[field] !== id);
  return !isOther && (phone === undefined || hasNumber(data, phone));
}

/** Events have the number of a lead, a chat or a call, with or without its country code. */
function hasNumber(data: Readonly<Record<string, unknown>>, phone: string): boolean {
  const { changed } = data;
  // A lead had another number before.
  if (Array.isArray(changed) && changed.includes("phone")) return true;
  const number = data["phone"] ?? data["phone_number"] ?? data["to_number"];
  if (typeof number !== "string") return true;
  const ends = [lastDigits(number), lastDigits(phone)] as const;
  return ends[0].endsWith(ends[1]) || ends[1].endsWith(ends[0]);
}

/** In these, the spellings of a number agree. */
const lastDigits = (number: string) => number.replaceAll(/\D/g, "").slice(-8);
