import { useQuery } from "@tanstack/react-query";
import { useEffect } from "react";
import { erasureQuery, type Erasure } from "../../api/erasures.ts";
import { queryClient } from "../../api/query-client.ts";
import { FormError } from "../../ui/form-error.tsx";

const waits: Readonly<Record<NonNullable<Erasure["waiting_for"]>, string>> = {
  message: "It waits for the outcome of a message that is on its way.",
  call: "It waits for the end of a call.",
  recording: "It waits for the node that keeps a recording, and continues when the node answers.",
};

/** Says how far an erasure is; shows the empty timeline once it is done. */
export function ErasureProgress({ id }: { readonly id: number }) {
  const { data, error } = useQuery(erasureQuery(id));
  const done = data?.state === "done";
  useEffect(() => {
    if (done) void queryClient.invalidateQueries({ queryKey: ["person"] });
  }, [done]);
  return (
    <div role="status" className="border-line bg-panel rounded-xl border p-4">
      <FormError error={error} />
      {data && <p>{done ? describeDone(data) : describeWait(data)}</p>}
    </div>
  );
}

const describeWait = ({ waiting_for }: Erasure): string =>
  waiting_for ? waits[waiting_for] : "Erasing …";

function describeDone({ counts }: Erasure): string {
  const parts = Object.entries(counts)
    .filter(([, count]) => count > 0)
    .map(([kind, count]) => `${kind.replaceAll("_", " ")} ${count}`);
  return parts.length === 0 ? "Erased. Nothing was known." : `Erased: ${parts.join(", ")}.`;
}
