import { useQuery } from "@tanstack/react-query";
import { useEffect } from "react";
import { erasureQuery } from "../../api/erasures.ts";
import { queryClient } from "../../api/query-client.ts";
import { describeErasure } from "../../messages/erasures.ts";
import { FormError } from "../../ui/form-error.tsx";

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
      {data && <p>{describeErasure(data)}</p>}
    </div>
  );
}
