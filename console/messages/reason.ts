/** A reason of the server in plain words. */
export type Reason = {
  /** A few words, for a list. */
  readonly label: string;
  /** What happened. */
  readonly text: string;
  /** What helps; null if nothing does or nothing is needed. */
  readonly advice: string | null;
};

/** The reason that the server names, or a sentence that names it as it is. */
export function reasonOf<Kind extends Reason>(
  reasons: Readonly<Record<string, Kind>>,
  name: string | null,
): Kind | Reason {
  const found = name === null ? undefined : reasons[name];
  return found ?? { label: name ?? "No reason given", text: name ?? "", advice: null };
}
