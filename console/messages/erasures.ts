import type { Erasure } from "../api/erasures.ts";

const waits: Readonly<Record<NonNullable<Erasure["waiting_for"]>, string>> = {
  message: "It waits for the outcome of a message that is on its way.",
  call: "It waits for the end of a call.",
  recording: "It waits for the node that keeps a recording, and continues when the node answers.",
};

/** Says how far an erasure is, and what it erased. */
export const describeErasure = (erasure: Erasure): string =>
  erasure.state === "done" ? describeDone(erasure) : describeWait(erasure);

const describeWait = ({ waiting_for }: Erasure): string =>
  waiting_for ? waits[waiting_for] : "Erasing …";

function describeDone({ counts }: Erasure): string {
  const parts = Object.entries(counts)
    .filter(([, count]) => count > 0)
    .map(([kind, count]) => `${kind.replaceAll("_", " ")} ${count}`);
  return parts.length === 0 ? "Erased. Nothing was known." : `Erased: ${parts.join(", ")}.`;
}
