import { useMutation, useQuery } from "@tanstack/react-query";
import { numbersQuery } from "../../api/chat.ts";
import { syncTemplates } from "../../api/templates.ts";
import { Button } from "../../ui/button.tsx";
import { formatCountOf } from "../../ui/numbers.ts";
import { toasts } from "../../ui/toasts.tsx";

/** Fetches the templates of each business account once. */
export function SyncTemplates() {
  const { data: numbers = [] } = useQuery(numbersQuery);
  const accounts = new Map(numbers.map((one) => [one.business_account_id, one.id]));
  const sync = useMutation({
    mutationFn: async () => {
      const totals: number[] = [];
      for (const id of accounts.values()) totals.push(await syncTemplates(id));
      return totals.reduce((sum, total) => sum + total, 0);
    },
    onSuccess: (total) =>
      toasts.add({ title: formatCountOf(total, "template fetched", "templates fetched") }),
    onError: ({ message }) =>
      toasts.add({ title: "The templates were not fetched", description: message }),
  });
  if (accounts.size === 0) return null;
  return (
    <Button busy={sync.isPending} onClick={() => sync.mutate()}>
      Fetch from WhatsApp
    </Button>
  );
}
