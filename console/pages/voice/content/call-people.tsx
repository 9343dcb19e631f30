import { useMutation } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { api, body } from "../../../api/client.ts";
import { queryClient } from "../../../api/query-client.ts";
import { voiceFilesQuery } from "../../../api/voice.ts";
import { Button } from "../../../ui/button.tsx";
import { useMay } from "../../../ui/permission.ts";
import { toasts } from "../../../ui/toasts.tsx";

/** What people are called with. */
type Plays = { readonly menu_id: number } | { readonly ai_agent_id: number };

/** Begins a voice campaign with a menu or an AI agent. */
export function CallPeople({ name, plays }: { readonly name: string; readonly plays: Plays }) {
  const navigate = useNavigate();
  const may = useMay("voice.campaigns.create");
  const call = useMutation({
    mutationFn: () => contentOf(name, plays),
    onSuccess: (file) =>
      navigate({
        to: "/voice/campaigns/new",
        search: { file, kind: "menu_id" in plays ? "obd_ivr" : "ai_bot" },
      }),
    onError: ({ message }) => toasts.add({ title: message }),
  });
  if (!may) return null;
  return (
    <Button busy={call.isPending} onClick={() => call.mutate()}>
      Call people with it
    </Button>
  );
}

/** Returns the ID of active content that plays it; creates it if there is none. */
async function contentOf(name: string, plays: Plays): Promise<number> {
  const files = await queryClient.query(voiceFilesQuery);
  const found = files.find(
    (file) =>
      file.active &&
      ("menu_id" in plays
        ? file.menu_id === plays.menu_id
        : file.ai_agent_id === plays.ai_agent_id),
  );
  if (found) return found.id;
  const made = await body(api.POST("/api/v1/voice/files", { body: { name, ...plays } }));
  await queryClient.invalidateQueries({ queryKey: ["voice-files"] });
  return made.id;
}
