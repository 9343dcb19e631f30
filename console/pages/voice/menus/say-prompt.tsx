import { useMutation } from "@tanstack/react-query";
import { useEffect } from "react";
import { synthesize } from "../../../api/voice.ts";
import { Button } from "../../../ui/button.tsx";
import { FormError } from "../../../ui/form-error.tsx";
import { useMay } from "../../../ui/permission.ts";
import type { Trial } from "./try-menu.tsx";

/** What is played now: its text, which can be listened to, or an audio. */
export function SayPrompt({ prompt }: { readonly prompt: Trial["prompts"][number] }) {
  if ("voice_file_id" in prompt)
    return (
      <audio
        controls
        aria-label="What is played"
        src={`/api/v1/voice/files/${prompt.voice_file_id}/audio`}
        className="w-full"
      />
    );
  return (
    <div className="flex flex-col gap-2">
      <blockquote className="bg-hover rounded-xl rounded-tl-none p-3 wrap-anywhere">
        {prompt.say}
      </blockquote>
      <Listen text={prompt.say} language={prompt.language} />
    </div>
  );
}

function Listen({ text, language }: { readonly text: string; readonly language: string }) {
  const may = useMay("voice.content.manage");
  const listen = useMutation({ mutationFn: () => synthesize({ text, language }) });
  const url = listen.data;
  useEffect(
    () => () => {
      if (url !== undefined) URL.revokeObjectURL(url);
    },
    [url],
  );
  if (!may) return null;
  return (
    <>
      {url === undefined ? (
        <Button className="self-start" busy={listen.isPending} onClick={() => listen.mutate()}>
          Listen
        </Button>
      ) : (
        <audio controls autoPlay aria-label="Synthesized text" src={url} className="w-full" />
      )}
      <FormError error={listen.error} />
    </>
  );
}
