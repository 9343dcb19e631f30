import { useMutation } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { ApiProblem } from "../../../api/problem.ts";
import { synthesize } from "../../../api/voice.ts";
import { fillText, placeholdersOf } from "../../../from-server.ts";
import { Button } from "../../../ui/button.tsx";
import { FormError } from "../../../ui/form-error.tsx";
import { TextField } from "../../../ui/text-field.tsx";

/** What a person with the given values hears, as a text and as audio. */
export function SpeechPreview({
  text,
  language,
}: {
  readonly text: string;
  readonly language: string;
}) {
  const [values, setValues] = useState<Readonly<Record<string, string>>>({});
  const [url, setUrl] = useState<string | null>(null);
  const names = [...new Set(placeholdersOf(text).map(({ name }) => name))];
  const listen = useMutation({
    mutationFn: () => synthesize({ text, language, variables: { ...values } }),
    onMutate: () => setUrl(null),
    onSuccess: setUrl,
  });
  useEffect(
    () => () => {
      if (url !== null) URL.revokeObjectURL(url);
    },
    [url],
  );
  if (text.trim() === "") return null;
  const problem = listen.error instanceof ApiProblem ? listen.error : null;
  const errorOf = (name: string) =>
    problem?.errors.find(({ field }) => field === `variables.${name}`)?.reason;
  return (
    <section aria-label="Preview of the script" className="flex flex-col gap-3">
      {names.length > 0 && (
        <div className="grid gap-3 sm:grid-cols-2">
          {names.map((name) => (
            <TextField
              key={name}
              label={`Value of {{${name}}}`}
              name={`value.${name}`}
              value={values[name] ?? ""}
              error={errorOf(name)}
              onValueChange={(value) => setValues((old) => ({ ...old, [name]: value }))}
            />
          ))}
        </div>
      )}
      <blockquote className="bg-hover rounded-xl rounded-tl-none p-3 wrap-anywhere whitespace-pre-wrap">
        {fillText(text, values).text}
      </blockquote>
      {!names.some(errorOf) && <FormError error={listen.error} />}
      <div className="flex flex-wrap items-center gap-3">
        <Button busy={listen.isPending} onClick={() => listen.mutate()}>
          Listen
        </Button>
        {url !== null && (
          <audio
            controls
            autoPlay
            aria-label="Synthesized script"
            src={url}
            className="max-w-full"
          />
        )}
      </div>
    </section>
  );
}
