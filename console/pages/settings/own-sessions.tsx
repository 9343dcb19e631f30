import { useMutation, useQuery } from "@tanstack/react-query";
import { api } from "../../api/client.ts";
import { queryClient } from "../../api/query-client.ts";
import { sessionsQuery, type Session } from "../../api/users.ts";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { FormError } from "../../ui/form-error.tsx";
import { Panel } from "../../ui/panel.tsx";
import { Time } from "../../ui/time.tsx";
import { describeProgram } from "./describe-program.ts";

const refresh = () => queryClient.invalidateQueries({ queryKey: ["sessions"] });

/** Where the user is signed in, and the way to end it. */
export function OwnSessions() {
  const { data = [], error } = useQuery(sessionsQuery);
  const endOthers = useMutation({
    mutationFn: () => api.DELETE("/api/v1/sessions", { params: { query: { keep_this: true } } }),
    onSettled: refresh,
  });
  return (
    <Panel
      title="Sessions"
      actions={
        data.length > 1 && (
          <Button busy={endOthers.isPending} onClick={() => endOthers.mutate()}>
            Sign out the others
          </Button>
        )
      }
    >
      <FormError error={error ?? endOthers.error} />
      <ul aria-label="Sessions" className="divide-line divide-y">
        {data.map((session) => (
          <OneSession key={session.id} session={session} />
        ))}
      </ul>
    </Panel>
  );
}

function OneSession({ session }: { readonly session: Session }) {
  const { id, is_current, address, user_agent, last_used_at, created_at } = session;
  const end = useMutation({
    mutationFn: () => api.DELETE("/api/v1/sessions/{id}", { params: { path: { id } } }),
    onSettled: refresh,
  });
  return (
    <li className="flex flex-wrap items-center justify-between gap-x-6 gap-y-2 py-3 first:pt-0 last:pb-0">
      <div className="min-w-0">
        <p className="flex flex-wrap items-center gap-2 font-medium">
          <span className="wrap-anywhere">{describeProgram(user_agent)}</span>
          {is_current && <Badge tone="good">This session</Badge>}
        </p>
        <p className="text-muted text-xs">
          {address ?? "Unknown address"} · signed in <Time at={created_at} />
          {!is_current && (
            <>
              {" "}
              · last used <Time at={last_used_at} />
            </>
          )}
        </p>
        <FormError error={end.error} />
      </div>
      {!is_current && (
        <Button busy={end.isPending} onClick={() => end.mutate()}>
          Sign out
        </Button>
      )}
    </li>
  );
}
